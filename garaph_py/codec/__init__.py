"""Arrays of edges and their codecs: `arrays` has the protocol, `codecs` the table; `format`, `pack`, `checked` and
`blocks` are the packed codec."""
