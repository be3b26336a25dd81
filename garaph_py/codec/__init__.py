"""Arrays of edges and their codecs.

`arrays` defines the protocol, `codecs` the table of codecs. `format`, `pack`, `checked` and `blocks` implement the
packed codec.
"""
