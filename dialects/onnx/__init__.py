"""The operators of the ONNX dialect.

A family is a file. The other files are what families share: `operator` says what an operator must
say, `composed` writes operators by others, `attribute` declares attributes, `broadcast` and
`windows` are rules of several families. `dialect` imports all families, which a .param needs not.
"""
