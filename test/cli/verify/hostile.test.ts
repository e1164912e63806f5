import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { verifyFiles } from '../../../src/cli/verify/verify.ts'
import { leafHash } from '../../../src/kernel/merkle.ts'
import { checkpointText, noteSigner, writeProof } from '../../../src/kernel/signed-note.ts'
import { closeMonth, plainMonth } from './support/closed-month.ts'
import { createMonthFolder } from './support/month-files.ts'

/** Files that were made to confuse the verifier are refused in words, in bounded time and memory. */

const folder = createMonthFolder()
t.teardown(() => folder.remove())
const month = closeMonth(plainMonth)
const signer = noteSigner('gateway.example/statements', Buffer.alloc(32, 7))

const whyNot = (files: Parameters<typeof folder.verify>[0]): string | undefined =>
  folder.verify(files, month.vkey).why

t.test('an empty file, another encoding and other ends of lines are named', (t) => {
  const { statement, postings, proof } = month
  const mark = '\uFEFF'
  const invalid = Buffer.concat([Buffer.from(statement.slice(0, 50)), Buffer.of(0xff, 0xfe)])
  const wrong: readonly (readonly [files: Parameters<typeof folder.verify>[0], why: string])[] = [
    [{ statement: '' }, 'statement.json does not verify: the file is empty'],
    [{ proof: '' }, 'line.tlog-proof does not verify: the file is empty'],
    [{ statement, postings: '' }, 'postings.ndjson does not verify: line 1: the file is empty'],
    [
      { statement: mark + statement },
      'statement.json does not verify: the file begins with a byte order mark',
    ],
    [
      { statement, postings: mark + postings },
      'postings.ndjson does not verify: line 1: the file begins with a byte order mark',
    ],
    [
      { proof: mark + proof },
      'line.tlog-proof does not verify: the file begins with a byte order mark',
    ],
    [{ statement: invalid }, 'statement.json does not verify: the text is not UTF-8'],
    [
      { statement: Buffer.from(statement, 'utf16le') },
      'statement.json does not verify: the text is not UTF-8',
    ],
    [
      { statement, postings: Buffer.from(postings.replace('ann', '\u00ff'), 'latin1') },
      'postings.ndjson does not verify: line 2: the text is not UTF-8',
    ],
    [
      { statement, postings: postings.replaceAll('\n', '\r\n') },
      'postings.ndjson does not verify: line 1: the line ends with a carriage return',
    ],
    [
      { proof: proof.replaceAll('\n', '\r\n') },
      'line.tlog-proof does not verify: the file is no proof of a posting',
    ],
    [
      { statement, postings: postings.slice(0, -1) },
      'postings.ndjson does not verify: line 7: the line has no newline at its end: the file is not whole',
    ],
    [
      { statement, postings: postings.slice(0, -9) },
      'postings.ndjson does not verify: line 7: the line has no newline at its end: the file is not whole',
    ],
    [
      { statement, postings: `${postings}\n` },
      'postings.ndjson does not verify: line 8: the line is empty',
    ],
    [
      { statement, postings: `\n${postings}` },
      'postings.ndjson does not verify: line 1: the line is empty',
    ],
  ]
  for (const [files, why] of wrong) t.equal(whyNot(files), why)
  t.end()
})

t.test(
  'JSON that two readers may understand differently is refused with its line and column',
  (t) => {
    const { statement } = month
    const at = (from: string | RegExp, to: string): string | undefined =>
      whyNot({ statement: statement.replace(from, to) })?.replace(
        'statement.json does not verify: ',
        '',
      )
    t.equal(at('{', '{ "number": "A",'), 'line 5, column 2: the member number is there twice')
    t.equal(at('{', '{ "n\\u0075mber": "A",'), 'line 5, column 2: the member number is there twice')
    t.equal(
      at('"late": 1', '"late": 9007199254740993'),
      'line 14, column 10: 9007199254740993 is no integer within ±(2^53 − 1)',
    )
    for (const number of ['1.0', '1e0', '-0', '01', '+1', '1E400', '-', '9'.repeat(40)])
      t.match(at('"late": 1', `"late": ${number}`), /^line 14, column 10: \S+ is no integer within/)
    for (const other of ['NaN', 'Infinity', 'undefined', "'1'", '', '/* */ 1'])
      t.equal(at('"late": 1', `"late": ${other}`), 'line 14, column 10: the text is not JSON')
    t.equal(
      at('"late": 1', `"late": ${'['.repeat(100_000)}`),
      'line 14, column 18: arrays and objects are more than 8 deep',
    )
    t.equal(at(/$/, '{}'), 'line 141, column 1: something follows the JSON')
    t.equal(at('"CNY"', '"C\nNY"'), 'line 7, column 16: a control character is in a string')
    t.equal(at('"CNY"', '"C\\xNY"'), 'line 7, column 14: an escape in a string is wrong')
    t.match(at(/"statement"[^]*/, '"statement'), /^line 2, column 12: a string does not end$/)
    t.match(at(/,\n "status"[^]*/, ''), /an object does not end$/)
    t.match(at(/{[^]*/, '[1'), /an array does not end$/)
    t.match(at(/{[^]*/, '{1:2}'), /a member has no name$/)
    t.match(at(/{[^]*/, '{"a"}'), /the member a has no value$/)
    for (const document of ['[]', 'null', '"x"', '1'])
      t.match(at(/{[^]*/, document), /^the statement is no object$/)
    t.match(at(/{[^]*/, '{"proof":{"__proto__":1}}'), /^proof has other members than/)
    t.match(
      at('{', '{"__proto__": {"status": "issued"},'),
      /^__proto__ does not follow from the close$/,
    )
    t.end()
  },
)

t.test('a leaf in any other form than its one is refused with its line', (t) => {
  const lines = month.postings.split('\n')
  const second = (leaf: string): string | undefined =>
    whyNot({ statement: month.statement, postings: lines.with(1, leaf).join('\n') })?.replace(
      /.*: line 2: /,
      '',
    )
  const leaf = lines[1] ?? ''
  t.equal(second(`${leaf} `), 'the leaf is not written as RFC 8785 says')
  t.equal(second(leaf.replace(',', ', ')), 'the leaf is not written as RFC 8785 says')
  t.equal(second(leaf.replace('1000000', '1e6')), 'the leaf is not written as RFC 8785 says')
  t.equal(second(leaf.replace('acme', '\\u0061cme')), 'the leaf is not written as RFC 8785 says')
  const numbers = 'the leaf has something else than strings, integers within ±(2^53 − 1) and null'
  t.equal(second(leaf.replace('1000000', '9007199254740993')), numbers)
  t.equal(second(leaf.replace('1000000', '0.5')), numbers)
  t.equal(second(`${'['.repeat(20_000)}${']'.repeat(20_000)}`), numbers)
  t.equal(second('{"a":1,"a":2}'), 'the leaf is no array')
  t.equal(second('['.repeat(20_000)), 'the leaf is not JSON')
  t.equal(second('x'), 'the leaf is not JSON')
  t.equal(second('[]'), 'the leaf is of no known kind: undefined')
  t.equal(second('["line"]'), 'the leaf has not the form of a line')
  t.equal(second('["grant"]'), 'undefined is no kind of grant')
  t.equal(second('["\u001b[31m\u202e"]'), 'the leaf is not JSON')
  t.equal(second('["\\u001b[31m"]'), String.raw`the leaf is of no known kind: \u{1b}[31m`)
  t.equal(second(`["${'x'.repeat(500)}"]`), `the leaf is of no known kind: ${'x'.repeat(80)}…`)
  t.end()
})

t.test(
  'a statement of 100 MB, a line of 64 KiB and a large proof are refused without being read through',
  (t) => {
    const large = 100 * 1024 ** 2
    const before = process.memoryUsage.rss()
    const refusals = [
      whyNot({ statement: Buffer.alloc(large, ' ') }),
      whyNot({ proof: Buffer.alloc(large, 'a') }),
      whyNot({ statement: month.statement, postings: Buffer.alloc(large, '[') }),
      whyNot({
        statement: month.statement,
        postings: `${month.postings}["${'x'.repeat(65_536)}"]\n`,
      }),
      whyNot({
        statement: month.statement,
        postings: `${month.postings}["${'x'.repeat(48_000 - 4)}"]\n`,
      }),
    ]
    t.same(refusals, [
      'statement.json does not verify: the file is larger than 4,194,304 bytes',
      'line.tlog-proof does not verify: the file is larger than 131,072 bytes',
      'postings.ndjson does not verify: line 1: the line is longer than 48,000 bytes',
      'postings.ndjson does not verify: line 8: the line is longer than 48,000 bytes',
      `postings.ndjson does not verify: line 8: the leaf is of no known kind: ${'x'.repeat(80)}…`,
    ])
    t.ok(process.memoryUsage.rss() - before < 3 * large, 'the buffers of this test and little more')
    for (const path of ['/dev/zero', '/dev/urandom']) {
      const file = join(dirname(folder.write('x', '')), 'endless.json')
      symlinkSync(path, file)
      t.throws(() => verifyFiles([file], [month.vkey], () => undefined), {
        name: 'NotVerifiedError',
      })
      folder.unlink('endless.json')
    }
    t.end()
  },
)

t.test('a proof that names itself, a node as a leaf and a chain of itself are no proofs', (t) => {
  const checkpointOf = (root: Buffer, size: number): string =>
    signer.sign(checkpointText({ origin: 'gateway.example/acme/CNY/2026-11/1', size, root }))
  const itself = Buffer.from(month.proof)
  const ofItself = {
    extra: itself,
    index: 0,
    path: [],
    checkpoint: checkpointOf(leafHash(itself), 1),
  }
  t.match(whyNot({ proof: writeProof(ofItself) }), /the leaf: the leaf is not JSON$/)
  const [left, right] = [leafHash('a'), leafHash('b')]
  const node = Buffer.concat([Buffer.of(1), left, right])
  const asLeaf = { extra: node, index: 0, path: [], checkpoint: checkpointOf(left, 1) }
  t.match(whyNot({ proof: writeProof(asLeaf) }), /not UTF-8$|not JSON$/)
  const leaf = Buffer.from(month.postings.split('\n')[3] ?? '')
  const root = leafHash(leaf)
  for (const path of [[root], [root, root], Array.from({ length: 53 }, () => root)]) {
    const looping = { extra: leaf, index: 1, path, checkpoint: checkpointOf(root, 2) }
    t.match(whyNot({ proof: writeProof(looping) }), /the posting is not in the signed tree$/)
  }
  const long = {
    extra: leaf,
    index: 1,
    path: Array.from({ length: 54 }, () => root),
    checkpoint: checkpointOf(root, 2),
  }
  t.match(whyNot({ proof: writeProof(long) }), /the file is no proof of a posting$/)
  const invalid = Buffer.from(leaf)
  invalid[10] = 0xff
  const broken = {
    extra: invalid,
    index: 0,
    path: [],
    checkpoint: checkpointOf(leafHash(invalid), 1),
  }
  t.match(whyNot({ proof: writeProof(broken) }), /the leaf after "extra" is not UTF-8$/)
  t.end()
})

t.test('a checkpoint in another form, or of another name, is refused', (t) => {
  const root = leafHash('a')
  const verify = (text: string, by = signer): string | undefined => {
    const leaf = Buffer.from(month.postings.split('\n')[3] ?? '')
    const proof = writeProof({ extra: leaf, index: 0, path: [], checkpoint: by.sign(text) })
    return whyNot({ proof })?.replace('line.tlog-proof does not verify: ', '')
  }
  const origin = 'gateway.example/acme/CNY/2026-11/1'
  const inBase64 = root.toString('base64')
  const form = 'the checkpoint is no signed note of three lines'
  t.equal(verify(`${origin}\n1\n${inBase64}\nmore\n`), form)
  t.equal(verify(`${origin}\n1\n`), form)
  for (const size of ['0', '01', '1.5', '9007199254740993', '-1'])
    t.equal(verify(`${origin}\n${size}\n${inBase64}\n`), 'the checkpoint has no number of leaves')
  t.match(verify(`${origin}\n1\n${inBase64.slice(0, -4)}\n`), /is no hash$/)
  for (const other of [
    'gateway.example',
    'gateway.example.evil/acme/CNY/2026-11/1',
    'gateway.example/acme/CNY/2026-11',
    'gateway.example//CNY/2026-11/1',
  ])
    t.equal(
      verify(`${other}\n1\n${inBase64}\n`),
      `the checkpoint is of ${other}, which gateway.example/statements does not sign`,
    )
  const stranger = noteSigner('gateway.example/statements', Buffer.alloc(32, 8))
  t.match(verify(`${origin}\n1\n${inBase64}\n`, stranger), /signed by none of the keys/)
  t.equal(verify(`${origin}\n1\n${'x'.repeat(20_000)}\n`), 'the checkpoint is too long')
  t.end()
})

t.test('a file that the system does not open, and wrong arguments, are no verdicts', (t) => {
  const statement = folder.write('statement.json', month.statement)
  const run = (files: readonly string[], keys: readonly string[] = [month.vkey]) => {
    return () => verifyFiles(files, keys, () => undefined)
  }
  const here = dirname(statement)
  mkdirSync(join(here, 'folder.json'))
  symlinkSync(join(here, 'loop.json'), join(here, 'loop.json'))
  const reasons = {
    'missing.json': 'there is no such file',
    'folder.json': 'it is a folder',
    'loop.json': 'its symbolic links lead to themselves',
  }
  for (const [name, why] of Object.entries(reasons))
    t.throws(run([join(here, name)]), {
      name: 'CommandError',
      message: `${join(here, name)} cannot be read: ${why}`,
    })
  t.throws(run([]), { name: 'UsageError', message: 'name a file: a statement, for example' })
  t.throws(run([statement, statement]), {
    name: 'UsageError',
    message: 'name one statement at a time',
  })
  t.throws(run(['month.pdf']), {
    name: 'UsageError',
    message: /^month\.pdf is no file that can be verified/,
  })
  t.throws(run([statement], []), { name: 'UsageError', message: /^name the key of the gateway/ })
  const [name = '', id = '', key = ''] = month.vkey.split('+')
  const wrongKeys: Readonly<Record<string, RegExp>> = {
    acme: /a key is <name>\+<id>\+<key>/,
    [`${name}+${id}`]: /a key is/,
    [`${name}+${id}+AA==`]: /it is no Ed25519 key$/,
    [`${name}+${id}+${key.replace('A', 'B')}`]: /it is no Ed25519 key$/,
    [`${name}+00000000+${key}`]: /its id belongs to another name or key$/,
    [noteSigner('gateway.example', Buffer.alloc(32, 7)).vkey]:
      /its name does not end with \/statements$/,
  }
  for (const [vkey, why] of Object.entries(wrongKeys))
    t.throws(run([statement], [vkey]), { name: 'UsageError', message: why })
  t.doesNotThrow(
    run(
      [statement],
      [noteSigner('other.example/statements', Buffer.alloc(32, 9)).vkey, ` ${month.vkey}\n`],
    ),
  )
  t.end()
})
