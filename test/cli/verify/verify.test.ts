import t from 'tap'
import { closeMonth, plainMonth } from './support/closed-month.ts'
import { createMonthFolder, filesOf } from './support/month-files.ts'

/** Whole months verify; a change is named with its file, its line or its member. */

const folder = createMonthFolder()
t.teardown(() => folder.remove())
const month = closeMonth({ ...plainMonth, lines: 300 })
const lines = month.postings.split('\n')

t.test('a statement, its postings and a line verify, whatever their number', (t) => {
  for (const count of [0, 1, 2, 253, 254, 255, 1_000]) {
    const made = closeMonth({ ...plainMonth, lines: count, late: Math.min(1, count), proved: 2 })
    const { why, lines } = folder.verify(filesOf(made), made.vkey)
    t.equal(why, undefined)
    t.match(lines[0], /^ACME-0011: acme, CNY, 2026-11: 1200\.005 → [\d.]+: signed, and it adds up$/)
    t.equal(lines[1], `${count + 2} postings: all of them, none added, each exact`)
    t.match(lines[2], /in the signed month gateway\.example\/acme\/CNY\/2026-11\/1$/)
  }
  t.end()
})

t.test('each file verifies without the others, but postings need their statement', (t) => {
  const { statement, postings, proof, vkey } = month
  t.equal(folder.verify({ statement }, vkey).lines.length, 1)
  t.equal(folder.verify({ proof }, vkey).lines.length, 1)
  t.throws(() => folder.verify({ postings }, vkey), {
    name: 'UsageError',
    message: 'name the statement of the postings too: it has the signature',
  })
  t.end()
})

t.test('a voided statement verifies and is reported as void', (t) => {
  const made = closeMonth({ ...plainMonth, status: 'voided' })
  t.match(folder.verify(filesOf(made), made.vkey).lines[0], /it adds up, but it is void$/)
  t.end()
})

t.test('a line that is changed, missing, added or moved is reported', (t) => {
  const wrong: readonly (readonly [changed: readonly string[], why: RegExp])[] = [
    [lines.with(7, (lines[7] ?? '').replace('"ann"', '"ben"')), /at least one was changed$/],
    [
      lines.with(7, (lines[7] ?? '').replace(/"(46|0\.5|2)",1000000/, '"3",1000000')),
      /: line 8: the amount is not quantity × price ÷ per$/,
    ],
    [lines.toSpliced(7, 1), /the signed tree has 302 postings, and the file 301$/],
    [lines.slice(0, 1).concat(''), /the signed tree has 302 postings, and the file 0$/],
    [lines.toSpliced(7, 0, lines[7] ?? ''), /: line 9: .* or is there twice$/],
    [
      lines.toSpliced(7, 2, lines[8] ?? '', lines[7] ?? ''),
      /: line 9: the posting is not in the order/,
    ],
    [
      lines.toSpliced(-1, 0, (lines.at(-2) ?? '').replace('00.001Z', '00.002Z')),
      /: line 304: the signed tree has 302 postings, and the file has more$/,
    ],
    [
      lines.with(0, (lines[0] ?? '').replace('"acme"', '"beta"')),
      /: line 1: this is not the close of the statement$/,
    ],
    [lines.slice(1), /: line 1: this is not the close/],
    [lines.with(7, lines[0] ?? ''), /: line 8: the leaf is the close of a month, not a posting$/],
    [
      lines.with(7, (lines[7] ?? '').replace('"acme"', '"beta"')),
      /: line 8: the posting is of another account$/,
    ],
    [
      lines.with(7, (lines[7] ?? '').replace(/"2026-1[01]/, '"2027-01')),
      /: line 8: the posting is of a later month$/,
    ],
    [
      lines.with(7, (lines[7] ?? '').replace('"line"', '"lime"')),
      /: line 8: the leaf is of no known kind: lime$/,
    ],
  ]
  for (const [changed, why] of wrong) {
    const postings = changed.join('\n')
    t.not(postings, month.postings, String(why))
    const found = folder.verify({ statement: month.statement, postings }, month.vkey).why
    t.match(found, why)
    t.match(found, /^postings\.ndjson does not verify: /)
  }
  t.end()
})

t.test('a change of what a statement shows is reported with both values', (t) => {
  const wrong: readonly (readonly [from: string | RegExp, to: string, why: RegExp])[] = [
    [
      '"shown": "100000.00"',
      '"shown": "100000.01"',
      /rows\[2\]\.shown is "100000\.01", and by the close it is "100000\.00"$/,
    ],
    ['"closing": "', '"closing": "1', /closing is "1\d+\.\d\d", and by the close it is/],
    [
      '"legal_name": "Tollgate GmbH"',
      '"legal_name": "Other GmbH"',
      /issuer\.legal_name is "Other GmbH"/,
    ],
    ['"held": "1.5"', '"held": "2.5"', /accruals\.held is "2\.5"/],
    ['"late": 1,', '', /late is missing$/],
    ['"late": 1,', '"late": 1, "paid": true,', /paid does not follow from the close$/],
    [
      '"status": "issued"',
      '"status": "paid"',
      /status is "paid", and by the close it is "issued"$/,
    ],
    ['"status": "issued"', '"status": "preview"', /is a preview: its month is not closed/],
    [/\n {4}"PO-7"/, '\n    "PO-8"', /the parties are not those of the close$/],
    [
      /\n {4}"ACME-0010"/,
      '\n   "ACME-0009"',
      /the sums by SKU, the refunds or the accruals are not those/,
    ],
    ['"path": [', '"path": [\n"AAAA",', /AAAA is no hash$/],
    [
      'gateway.example/acme/CNY/2026-11/1\\n',
      'gateway.example/acme/CNY/2026-10/1\\n',
      /the signature by gateway\.example\/statements is not one of this checkpoint$/,
    ],
    [
      '— gateway.example/statements',
      '— gateway.example/statement',
      /signed by none of the keys that were given with --key$/,
    ],
    ['"accruals": [', '"other": [', /proof has other members than leaf, sums/],
  ]
  for (const [from, to, why] of wrong) {
    const statement = month.statement.replace(from, to)
    t.not(statement, month.statement, String(from))
    t.match(folder.verify({ statement }, month.vkey).why, why)
  }
  t.end()
})

t.test('a proof of another posting, month or account is reported', (t) => {
  const other = closeMonth({ ...plainMonth, lines: 299 })
  const again = closeMonth({ ...plainMonth, lines: 300, attempt: 2 })
  const verify = (proof: string, statement?: string): string | undefined =>
    folder.verify(statement === undefined ? { proof } : { proof, statement }, month.vkey).why
  t.match(
    verify(month.proof.replace('index 3', 'index 4')),
    /the posting is not in the signed tree$/,
  )
  t.match(
    verify(month.proof.replace('index 3', 'index 999')),
    /the posting is not in the signed tree$/,
  )
  t.match(
    verify(closeMonth({ ...plainMonth, proved: 0 }).proof),
    /is the close of a month, not a posting$/,
  )
  for (const { proof } of [other, again])
    t.match(verify(proof, month.statement), /the proof is not of the month of the statement$/)
  const foreign = closeMonth(plainMonth, (leaves) =>
    leaves.with(3, (leaves[3] ?? '').replace('"acme"', '"beta"')),
  )
  t.match(verify(foreign.proof), /the posting is of another account than the checkpoint$/)
  t.end()
})

t.test('a month that was signed wrongly does not verify', (t) => {
  const wrong: readonly (readonly [from: string | RegExp, to: string, why: RegExp])[] = [
    [
      '"1200.005"',
      '"1200.006"',
      /the opening balance and the figures do not add up to the closing balance$/,
    ],
    [
      '"close",1',
      '"close",2',
      /the close is of another version of the format: a newer verifier may know it$/,
    ],
    ['"acme"', '"beta"', /the checkpoint is of .*, and the close of another month$/],
    [/,6,1,"/, ',7,1,"', /the signed tree has 6 postings, and the close counts 7$/],
    [/,6,1,"/, ',6,7,"', /more late postings than postings$/],
    [/,6,1,"[^"]+"/, ',6,1,null', /the close names no previous period$/],
    ['"ACME-0011",11', '"ACME-0011",1', /the first period names a previous one$/],
    ['2026-12-01', '2026-10-01', /the month ends before it begins$/],
    ['"CNY"', '"EUR"', /EUR is no currency$/],
    ['"2026-11"', '"2026-13"', /2026-13 is no month$/],
  ]
  for (const [from, to, why] of wrong) {
    const made = closeMonth(plainMonth, (leaves) => {
      t.match(leaves[0], from)
      return leaves.with(0, (leaves[0] ?? '').replace(from, to))
    })
    t.match(folder.verify({ statement: made.statement }, made.vkey).why, why)
  }
  t.end()
})

t.test('postings that were signed but do not give the figures are reported', (t) => {
  const wrong: readonly (readonly [leaf: number, from: string, to: string, why: RegExp])[] = [
    [
      2,
      '"model-1-tokens"',
      '"model-7-tokens"',
      /line 3: the statement has no sum of the SKU model-7-tokens$/,
    ],
    [
      2,
      '"model-1-tokens"',
      '"model-0-tokens"',
      /the lines do not add up to the row of model-0-tokens in the statement$/,
    ],
    [
      2,
      ',"token",',
      ',"second",',
      /the lines do not add up to the row of model-1-tokens in the statement$/,
    ],
    [1, '2026-10-30T', '2026-10-31T', /0 postings are late, and by the statement 1$/],
    [5, '"100000"', '"100001"', /the postings do not add up to granted_paid of the statement$/],
    [
      6,
      '"line","call_1:1"',
      '"grant","grant-0"',
      /do not add up to adjusted_usage of the statement$/,
    ],
    [5, '["grant"', '["expiry"', /line 6: paid is no kind of expiry$/],
    [6, '"0.0000325"', '"0.00003250"', /line 7: 0\.00003250 is no amount$/],
    [6, '"0.0000325"', '"-0"', /line 7: -0 is no amount$/],
    [6, '04:00:00.001Z', '03:00:00.001Z', /line 7: the posting is not in the order/],
    [3, '2026-10-31', '2026-02-30', /line 4: 2026-02-30T16:00:00\.000Z is no time$/],
    [3, ',1000000,', ',100,', /line 4: 100 is no "per"$/],
    [3, '"call_1:1"', '"call_9:1"', /line 4: call_9:1 is no id of a line of its call or task$/],
    [3, '"reported"', '"guessed"', /line 4: the leaf has not the form of a line$/],
    [2, ',3]', ',null]', /line 3: the leaf has not the form of a line$/],
  ]
  for (const [index, from, to, why] of wrong) {
    const made = closeMonth(plainMonth, (leaves) => {
      t.ok(leaves[index]?.includes(from), `${from} is in leaf ${index}`)
      return leaves.with(index, (leaves[index] ?? '').replace(from, to))
    })
    const { statement, postings, vkey } = made
    t.match(folder.verify({ statement, postings }, vkey).why, why)
  }
  t.end()
})
