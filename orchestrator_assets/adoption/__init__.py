"""Makes an evaluation of a run directory of ServiceNow's EVA (S7).

Adopting copies nothing and changes nothing of EVA's, so a read-only run can be adopted too. What
comes about is a run directory of our own, in which every conversation and every archive is a
directory of links to EVA's files, with a journal that tells where it comes from. Only `result.json`
and `transcript.jsonl` are translated instead of linked, and what is moved, judged or scored later
replaces links, never what they lead to. EVA's directory must stay where it is.
"""

from orchestrator_assets.adoption.adopting import Adoption, adopt

__all__ = ["Adoption", "adopt"]
