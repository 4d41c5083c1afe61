"""How a prompt that one engine has computed gets to another, which answers: disaggregated prefill.

`transfer.py` reads what an engine's arguments say of it, and `layout.py` decides whether two engines fit. The
others are the ways: over a channel between two pods, as NIXL in vLLM and the bootstrap server of SGLang, or
over a storage that both have. No blocks are moved, but the pods do speak to each other, at the addresses and
ports that were given to them.
"""
