import t from 'tap'

t.pass(`limit ${t.options.timeout} ms`)
