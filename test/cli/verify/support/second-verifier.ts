import { createHash, createPublicKey, verify } from 'node:crypto'

/**
 * A second verifier of statements, written from `docs/verify.md` alone and without code of the program: where the two
 * differ, the page or one of them is wrong. For small files only.
 */

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }
type Row = readonly Json[]
type Members = Readonly<Record<string, Json>>

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what)
}

const sha256 = (...parts: readonly (string | Uint8Array)[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

// Texts and JSON.

function textOf(bytes: Uint8Array, most: number): string {
  check(bytes.length > 0 && bytes.length <= most, 'size')
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  check(!text.startsWith('\uFEFF'), 'byte order mark')
  return text
}

const isInteger = (text: string): boolean =>
  /^(?:0|-?[1-9]\d*)$/.test(text) && Number.isSafeInteger(Number(text))

/** Each token of a JSON text in turn, so that a member that is there twice is seen. */
function parse(text: string): Json {
  const value = JSON.parse(text) as Json
  const open: (Set<string> | undefined)[] = []
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? []
  for (const [index, token] of tokens.entries()) {
    if (token === '{') open.push(new Set())
    else if (token === '[') open.push(undefined)
    else if (token === '}' || token === ']') open.pop()
    else if (token.startsWith('"') && tokens[index + 1] === ':') {
      const name = JSON.parse(token) as string
      check(open.at(-1)?.has(name) === false, `${name} twice`)
      open.at(-1)?.add(name)
    } else if (/^[-\d]/.test(token)) check(isInteger(token), 'number')
    check(open.length <= 9, 'depth')
  }
  return value
}

function same(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [one, other] = [a as Members, b as Members]
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].every(
    (name) =>
      Object.hasOwn(one, name) && Object.hasOwn(other, name) && same(one[name], other[name]),
  )
}

const text = (value: Json | undefined, form = /^[^]+$/): string => {
  check(typeof value === 'string' && form.test(value), `text ${JSON.stringify(value)}`)
  return value
}
const count = (value: Json | undefined): number => {
  check(Number.isSafeInteger(value) && Number(value) >= 0, `count ${JSON.stringify(value)}`)
  return Number(value)
}
const list = (value: Json | undefined, size?: number): Row => {
  check(Array.isArray(value) && (size === undefined || value.length === size), 'list')
  return value as Row
}

// Amounts, as integers of 10⁻¹².

function amount(value: Json | undefined): bigint {
  const [, sign = '', whole = '', , fraction = ''] =
    /^(-?)(0|[1-9]\d{0,25})(\.(\d{0,11}[1-9]))?$/.exec(text(value)) ?? []
  check(whole !== '' && value !== '-0', `amount ${JSON.stringify(value)}`)
  const size = BigInt(whole) * 10n ** 12n + BigInt(fraction.padEnd(12, '0'))
  return sign === '' ? size : -size
}

const minus = (value: string): string =>
  value === '0' ? '0' : value.startsWith('-') ? value.slice(1) : `-${value}`

const CENT = 10n ** 10n
const cents = (value: bigint): bigint => (value - (((value % CENT) + CENT) % CENT)) / CENT
const written = (value: bigint): string => {
  const size = value < 0n ? -value : value
  return `${value < 0n ? '-' : ''}${size / 100n}.${String(size % 100n).padStart(2, '0')}`
}

// The tree.

const leafHash = (leaf: string): Buffer => sha256('\0', leaf)
const parent = (left: Buffer, right: Buffer): Buffer => sha256('\x01', left, right)

function treeRoot(hashes: readonly Buffer[]): Buffer {
  const [first] = hashes
  if (first === undefined) throw new Error('no leaves')
  if (hashes.length === 1) return first
  let half = 1
  while (half * 2 < hashes.length) half *= 2
  return parent(treeRoot(hashes.slice(0, half)), treeRoot(hashes.slice(half)))
}

const hash = (value: Json | undefined): Buffer => {
  const bytes = Buffer.from(text(value), 'base64')
  check(bytes.length === 32 && bytes.toString('base64') === value, 'hash')
  return bytes
}

/** RFC 9162, section 2.1.3.2. */
function checkInclusion(leaf: string, index: number, head: Head, path: readonly Buffer[]): void {
  check(index < head.size, 'index')
  let [fn, sn, r] = [BigInt(index), BigInt(head.size) - 1n, leafHash(leaf)]
  for (const p of path) {
    check(sn !== 0n, 'path is too long')
    if ((fn & 1n) === 1n || fn === sn) {
      r = parent(p, r)
      while ((fn & 1n) === 0n && fn !== 0n) [fn, sn] = [fn >> 1n, sn >> 1n]
    } else r = parent(r, p)
    ;[fn, sn] = [fn >> 1n, sn >> 1n]
  }
  check(sn === 0n && r.equals(head.root), 'not in the tree')
}

// Leaves.

function cellsOf(leaf: string): Row {
  check(Buffer.byteLength(leaf) <= 48_000, 'leaf')
  const cells = list(JSON.parse(leaf) as Json)
  for (const cell of cells)
    check(cell === null || typeof cell === 'string' || Number.isSafeInteger(cell), 'cell')
  check(JSON.stringify(cells) === leaf, 'RFC 8785')
  return cells
}

const position = (value: Json | undefined): bigint => BigInt(text(value, /^(?:0|[1-9]\d*)$/))
const names = [
  'granted_paid',
  'granted_promotional',
  'adjusted_usage',
  'adjusted_grants',
  'expired',
  'settled',
]

function readClose(leaf: string) {
  const cells = cellsOf(leaf)
  check(cells.length === 25 && cells[0] === 'close' && cells[1] === 1, 'close')
  for (const index of [5, 6, 20, 21]) count(cells[index])
  for (const index of [2, 3, 4, 7, 8]) text(cells[index])
  for (const index of [23, 24]) hash(cells[index])
  const total = cells.slice(12, 19).reduce<bigint>((sum, cell) => sum + amount(cell), 0n)
  check(total === amount(cells[19]), 'sum')
  const [from, to] = [9, 10].map((index) => {
    const ms = Date.parse(
      text(cells[index], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?(Z|[+-]\d\d:\d\d)$/),
    )
    return new Date(ms).toISOString()
  }) as [string, string]
  check(from < to && Number(cells[21]) <= Number(cells[20]), 'bounds')
  check((cells[22] === null) === (cells[5] === 1), 'previous')
  if (cells[22] !== null) hash(cells[22])
  return { cells, from, to, figures: cells.slice(13, 19) as readonly string[] }
}

type Close = ReturnType<typeof readClose>

interface Posting {
  readonly account: readonly [Json | undefined, Json | undefined]
  readonly order: readonly [at: string, position: bigint, number: number]
  readonly figure: string
  readonly value: bigint
  readonly usage?: { readonly sku: string; readonly unit: string; readonly quantity: number }
}

const time = (value: Json | undefined): string => {
  check(new Date(text(value)).toISOString() === value, 'time')
  return text(value)
}

function readPosting(leaf: string): Posting {
  const [word, ...of] = cellsOf(leaf)
  const orNull = (value: Json | undefined): boolean => value === null || typeof value === 'string'
  if (word === 'line') {
    check(of.length >= 21 && of.length <= 24 && (of.length === 21 || of.at(-1) !== null), 'line')
    const strings = [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 15, 16, 17, 18, 19, 20]
    for (const index of strings) check(typeof of[index] === 'string', `member ${index}`)
    check(orNull(of[6]) && orNull(of[22] ?? null) && orNull(of[23] ?? null), 'nullable')
    if (of[21] != null) count(of[21])
    check(of[14] === 1 || of[14] === 1_000 || of[14] === 1_000_000, 'per')
    check(of[18] === 'reported' || of[18] === 'estimated', 'measurement')
    const [, source, number = ''] = /^([^]*):([1-9]\d*)$/.exec(text(of[0])) ?? []
    check(source === of[5], 'id')
    const quantity = count(of[11])
    const value = amount(of[16])
    check(BigInt(quantity) * amount(of[13]) === value * BigInt(of[14]), 'exact')
    return {
      account: [of[2], of[15]],
      order: [time(of[1]), position(of[20]), Number(number)],
      figure: 'settled',
      value: -value,
      usage: { sku: text(of[9]), unit: of[12] as string, quantity },
    }
  }
  const kinds: Readonly<Record<string, string>> = {
    '["grant","paid"]': names[0]!,
    '["grant","promotional"]': names[1]!,
    '["adjustment","line"]': names[2]!,
    '["adjustment","grant"]': names[3]!,
    '["expiry",null]': names[4]!,
  }
  const figure = kinds[JSON.stringify([word, of[5]])]
  check(figure !== undefined && of.length === 10, 'kind')
  text(of[0])
  if (word === 'grant') check(orNull(of[6]) && of[7] === null && typeof of[8] === 'string', 'grant')
  if (word === 'adjustment')
    check(text(of[6]) !== '' && orNull(of[7]) && typeof of[8] === 'string', 'adjustment')
  if (word === 'expiry') {
    check(of.slice(5, 9).every((cell) => cell === null) && amount(of[4]) < 0n, 'expiry')
  }
  return {
    account: [of[2], of[3]],
    order: [time(of[1]), position(of[9]), 0],
    figure,
    value: amount(of[4]),
  }
}

// The checkpoint.

interface Head {
  readonly place: string
  readonly size: number
  readonly root: Buffer
  readonly text: string
}

function openCheckpoint(note: string, vkey: string): Head {
  const [, name = '', id = '', base64 = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(vkey) ?? []
  const key = Buffer.from(base64, 'base64')
  check(key.length === 33 && key[0] === 1 && key.toString('base64') === base64, 'key')
  check(sha256(name, '\n', key).subarray(0, 4).toString('hex') === id, 'id of the key')
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.subarray(1).toString('base64url') }
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
  const lines = note.split('\n')
  check(lines.length >= 6 && lines[3] === '' && lines.at(-1) === '', 'note')
  const signed = `${lines.slice(0, 3).join('\n')}\n`
  let isSigned = false
  for (const line of lines.slice(4, -1)) {
    const [dash, by, signature = '', ...more] = line.split(' ')
    const bytes = Buffer.from(signature, 'base64')
    check(dash === '—' && more.length === 0 && bytes.toString('base64') === signature, 'signature')
    if (by !== name || bytes.subarray(0, 4).toString('hex') !== id) continue
    check(verify(null, Buffer.from(signed), publicKey, bytes.subarray(4)), 'wrong signature')
    isSigned = true
  }
  check(isSigned, 'not signed')
  const [origin = '', size = '', root = ''] = lines
  check(isInteger(size) && Number(size) > 0 && name.endsWith('/statements'), 'size')
  const issuer = name.slice(0, -'statements'.length)
  check(origin.startsWith(issuer), 'issuer')
  return { place: origin.slice(issuer.length), size: Number(size), root: hash(root), text: signed }
}

// `statement.json`.

function rowsOf(close: Close, sums: readonly Row[]): readonly Members[] {
  const figures = close.figures.slice(0, 5).map((exact, index) => [names[index]!, exact] as const)
  const rows = [
    ...sums.map(([sku, unit, quantity, cost]) => {
      return {
        kind: 'usage',
        key: text(sku),
        quantity: quantity!,
        unit: unit!,
        exact: minus(text(cost)),
      }
    }),
    ...figures
      .filter(([, exact]) => exact !== '0')
      .map(([name, exact]) => ({ kind: name, key: name, quantity: null, unit: null, exact })),
  ]
  const values = rows.map(({ exact }) => amount(exact))
  const [opening, closing] = [12, 19].map((index) => cents(amount(close.cells[index]) + CENT / 2n))
  const shown = values.map(cents)
  let missing = closing! - opening! - shown.reduce((sum, one) => sum + one, 0n)
  const rest = (index: number): bigint => values[index]! - cents(values[index]!) * CENT
  const order = [...rows.keys()].sort((a, b) => {
    if (rest(a) !== rest(b)) return rest(a) > rest(b) ? -1 : 1
    return `${rows[a]!.kind} ${rows[a]!.key}` < `${rows[b]!.kind} ${rows[b]!.key}` ? -1 : 1
  })
  for (const index of order)
    if (missing > 0n) [shown[index], missing] = [shown[index]! + 1n, missing - 1n]
  return rows.map((row, index) => ({ ...row, shown: written(shown[index]!) }))
}

function verifyDocument(bytes: Uint8Array, vkey: string) {
  const { proof, status, ...shown } = parse(textOf(bytes, 4 * 1024 ** 2)) as Members
  check(status === 'issued' || status === 'voided', 'status')
  const { leaf, sums, refunds, accruals, parties, path, checkpoint, ...more } = proof as Members
  check(Object.keys(more).length === 0, 'more')
  const head = openCheckpoint(text(checkpoint), vkey)
  const close = readClose(text(leaf))
  const [, , tenant, currency, number, , attempt, month, zone, from, to, at] = close.cells
  check(
    head.place === [text(tenant), text(currency), text(month), count(attempt)].join('/'),
    'origin',
  )
  check(head.size === Number(close.cells[20]) + 1, 'postings')
  checkInclusion(text(leaf), 0, head, list(path).map(hash))
  const digestOf = (value: unknown): string => sha256(JSON.stringify(value)).toString('base64')
  check(digestOf([sums, refunds, accruals]) === close.cells[23], 'sums')
  check(digestOf(parties) === close.cells[24], 'hash of the parties')
  const rows = list(sums).map((row) => list(row, 5))
  const refundRows = list(refunds).map((row) => list(row, 3))
  const total = (of: readonly Row[], index: number): bigint =>
    of.reduce((sum, row) => sum + amount(row[index]), 0n)
  check(-total(rows, 3) === amount(close.figures[5]), 'settled')
  check(total(refundRows, 1) === amount(close.figures[2]), 'refunds')
  const [issuer, customer] = list(parties, 2).map((party) => list(party))
  check(issuer!.length === 4 && customer!.length === 5, 'parties')
  const partyOf = ([legal_name, address, country, tax_id]: Row) => ({
    legal_name,
    address,
    country,
    tax_id,
  })
  const [held, unstated] = list(accruals, 2)
  const expected = {
    object: 'statement',
    notice: 'This statement is not a tax invoice.',
    number,
    tenant_id: tenant,
    currency,
    month,
    time_zone: zone,
    from,
    to,
    position: at,
    postings: close.cells[20],
    late: close.cells[21],
    issuer: partyOf(issuer!),
    customer: { ...partyOf(customer!), po_number: customer![4] },
    opening: written(cents(amount(close.cells[12]) + CENT / 2n)),
    closing: written(cents(amount(close.cells[19]) + CENT / 2n)),
    exact: { opening: close.cells[12], closing: close.cells[19] },
    rows: rowsOf(close, rows),
    refunds: refundRows.map(([statement, value, postings]) => ({
      statement,
      amount: value,
      postings,
    })),
    accruals: { held, unstated },
  }
  check(same(shown, expected as unknown as Json), 'shown')
  return { head, close, leaf: text(leaf), sums: rows, refunds: refundRows }
}

// `postings.ndjson`.

type Verified = ReturnType<typeof verifyDocument>

function verifyLines(bytes: Uint8Array, { head, close, leaf, sums, refunds }: Verified): void {
  const lines = textOf(bytes, Number.POSITIVE_INFINITY).split('\n')
  check(lines.pop() === '' && lines[0] === leaf, 'first or last line')
  const postings = lines.slice(1).map(readPosting)
  for (const [index, { account, order }] of postings.entries()) {
    check(account[0] === close.cells[2] && account[1] === close.cells[3], 'account')
    check(order[0] < close.to && order[1] <= position(close.cells[11]), 'bounds')
    const before = postings[index - 1]?.order
    const place = [0, 1, 2].find((at) => order[at] !== before?.[at])
    check(before === undefined || (place !== undefined && order[place]! > before[place]!), 'order')
  }
  check(lines.length === head.size && treeRoot(lines.map(leafHash)).equals(head.root), 'tree')
  for (const [index, name] of names.entries()) {
    const of = postings.filter(({ figure }) => figure === name)
    check(of.reduce((sum, { value }) => sum + value, 0n) === amount(close.figures[index]), name)
  }
  check(postings.filter(({ order }) => order[0] < close.from).length === close.cells[21], 'late')
  const refunded = postings.filter(({ figure }) => figure === 'adjusted_usage').length
  check(refunds.reduce((sum, [, , many]) => sum + count(many), 0) === refunded, 'refunds')
  const known = new Set(sums.map(([sku]) => sku))
  check(known.size === sums.length, 'SKU twice')
  for (const [sku, unit, quantity, cost, many] of sums) {
    const of = postings.filter(
      ({ usage }) => usage && (known.has(usage.sku) ? usage.sku : 'other') === sku,
    )
    check(
      of.length === many && of.reduce((sum, { value }) => sum - value, 0n) === amount(cost),
      text(sku),
    )
    if (unit !== null)
      check(
        of.every(({ usage }) => usage?.unit === unit),
        'unit',
      )
    const used = of.reduce((sum, { usage }) => sum + BigInt(usage?.quantity ?? 0), 0n)
    if (quantity !== null) check(used === BigInt(count(quantity)), 'quantity')
  }
  check(known.has('other') || postings.every(({ usage }) => !usage || known.has(usage.sku)), 'SKU')
}

// `.tlog-proof`.

function verifyProof(bytes: Uint8Array, vkey: string, statement: Verified | undefined): void {
  const [first, extra = '', index = '', ...rest] = textOf(bytes, 128 * 1024).split('\n')
  check(first === 'c2sp.org/tlog-proof@v1', 'first line')
  check(extra.startsWith('extra ') && index.startsWith('index '), 'extra and index')
  const leaf = Buffer.from(extra.slice(6), 'base64')
  check(leaf.toString('base64') === extra.slice(6) && isInteger(index.slice(6)), 'extra')
  const end = rest.indexOf('')
  const head = openCheckpoint(rest.slice(end + 1).join('\n'), vkey)
  const posting = readPosting(textOf(leaf, 48_000))
  check(head.place.startsWith(`${posting.account.map((one) => text(one)).join('/')}/`), 'account')
  checkInclusion(leaf.toString(), Number(index.slice(6)), head, rest.slice(0, end).map(hash))
  check(statement === undefined || statement.head.text === head.text, 'another month')
}

/** The bytes of the files of one month. */
export interface MonthFiles {
  readonly statement?: Uint8Array | undefined
  readonly postings?: Uint8Array | undefined
  readonly proof?: Uint8Array | undefined
}

/** Whether these files verify; postings need their statement. */
export function verifiesBySecond(
  { statement, postings, proof }: MonthFiles,
  vkey: string,
): boolean {
  try {
    const verified = statement && verifyDocument(statement, vkey)
    if (postings !== undefined) {
      check(verified !== undefined, 'no statement')
      verifyLines(postings, verified)
    }
    if (proof !== undefined) verifyProof(proof, vkey, verified)
    return true
  } catch (error) {
    if (error instanceof Error) return false
    throw error
  }
}
