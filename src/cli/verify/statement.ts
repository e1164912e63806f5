import { createHash } from 'node:crypto'
import { digestOfLeaf, rootAbove } from '../../app/audit/second-tree.ts'
import { negated, readPico, showMovements } from './amounts.ts'
import { openCheckpoint, readHash, type SignedHead, type TrustedKey } from './checkpoint.ts'
import { type CloseFacts, movementNames, readCloseLeaf } from './close-leaf.ts'
import { textOfFile } from './files.ts'
import { NotVerifiedError, requireThat, shownText, within } from './not-verified.ts'
import { type JsonValue, parseStrictJson } from './strict-json.ts'

/** `statement.json`: its close is signed, adds up, and all that it shows follows from the close. */

const MAX_BYTES = 4_194_304
const MAX_PATH = 53

/** Usage of one SKU. */
export interface SkuFacts {
  readonly sku: string
  readonly unit: string | null
  readonly quantity: number | null
  readonly amount: string
  readonly lines: number
}

/** A statement that verifies. */
export interface VerifiedStatement {
  readonly isVoid: boolean
  readonly close: CloseFacts
  readonly head: SignedHead
  /** The text of leaf 0. */
  readonly leaf: string
  readonly sums: readonly SkuFacts[]
  /** Adjustments of lines in the month. */
  readonly refundPostings: number
}

type JsonObject = { readonly [name: string]: JsonValue }

function objectIn(value: JsonValue | undefined, what: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as JsonObject
  throw new NotVerifiedError(`${what} is no object`)
}

function listIn(value: JsonValue | undefined, what: string): readonly JsonValue[] {
  if (Array.isArray(value)) return value
  throw new NotVerifiedError(`${what} is no array`)
}

function textIn(value: JsonValue | undefined, what: string): string {
  if (typeof value === 'string') return value
  throw new NotVerifiedError(`${what} is no string`)
}

function countIn(value: JsonValue | undefined, what: string): number {
  if (typeof value === 'number' && value >= 0) return value
  throw new NotVerifiedError(`${what} is no integer from 0 on`)
}

/** A value, or null. */
function orNull<T>(
  read: (value: JsonValue | undefined, what: string) => T,
  value: JsonValue | undefined,
  what: string,
): T | null {
  return value === null ? null : read(value, what)
}

/** The members of an array that has exactly so many. */
function cellsIn(value: JsonValue | undefined, count: number, what: string): readonly JsonValue[] {
  const cells = listIn(value, what)
  requireThat(cells.length === count, `${what} has not ${count} members`)
  return cells
}

const proofMembers = ['leaf', 'sums', 'refunds', 'accruals', 'parties', 'path', 'checkpoint']

/** @throws NotVerifiedError where anything in it does not hold */
export function verifyStatement(file: string, keys: readonly TrustedKey[]): VerifiedStatement {
  const { proof: given, ...document } = objectIn(
    parseStrictJson(textOfFile(file, MAX_BYTES)),
    'the statement',
  )
  requireThat(
    document['status'] !== 'preview',
    'the statement is a preview: its month is not closed, and nothing is signed yet',
  )
  const proof = objectIn(given, 'proof')
  const names = Object.keys(proof)
  requireThat(
    names.length === proofMembers.length && proofMembers.every((name) => names.includes(name)),
    `proof has other members than ${proofMembers.join(', ')}`,
  )
  const head = openCheckpoint(textIn(proof['checkpoint'], 'proof.checkpoint'), keys)
  const leaf = textIn(proof['leaf'], 'proof.leaf')
  const close = within('proof.leaf', () => readCloseLeaf(leaf))
  checkHead(head, close, leaf, proof['path'])
  const details = detailsOf(proof, close)
  const isVoid = document['status'] === 'voided'
  const shown = { ...shownOf(close, details), status: isVoid ? 'voided' : 'issued' }
  const difference = differenceOf(document, shown, '')
  if (difference !== undefined) throw new NotVerifiedError(difference)
  const refundPostings = details.refunds.reduce((sum, { postings }) => sum + postings, 0)
  return { isVoid, close, head, leaf, sums: details.sums, refundPostings }
}

function checkHead(
  head: SignedHead,
  close: CloseFacts,
  leaf: string,
  path: JsonValue | undefined,
): void {
  const { tenant, currency, month, attempt } = head.account
  requireThat(
    tenant === close.tenant &&
      currency === close.currency &&
      month === close.month &&
      attempt === close.attempt,
    `the checkpoint is of ${shownText(head.origin)}, and the close of another month`,
  )
  requireThat(
    head.leaves === close.postings + 1,
    `the signed tree has ${head.leaves - 1} postings, and the close counts ${close.postings}`,
  )
  const hashes = listIn(path, 'proof.path')
  requireThat(hashes.length <= MAX_PATH, `proof.path has more than ${MAX_PATH} hashes`)
  const neighbours = hashes.map((hash) => readHash(textIn(hash, 'a member of proof.path')))
  const root = rootAbove(digestOfLeaf(Buffer.from(leaf)), 0, head.leaves, neighbours)
  requireThat(root?.equals(head.root) === true, 'the close is not in the signed tree')
}

interface Details {
  readonly sums: readonly SkuFacts[]
  readonly refunds: readonly {
    readonly statement: string | null
    readonly amount: string
    readonly postings: number
  }[]
  readonly accruals: { readonly held: string; readonly unstated: string }
  readonly issuer: JsonObject
  readonly customer: JsonObject
}

/** The rows and parties whose hashes the close has. */
function detailsOf({ sums, refunds, accruals, parties }: JsonObject, close: CloseFacts): Details {
  const hashOf = (value: unknown): string =>
    createHash('sha256').update(JSON.stringify(value)).digest('base64')
  requireThat(
    hashOf([sums, refunds, accruals]) === close.sums,
    'the sums by SKU, the refunds or the accruals are not those of the close',
  )
  requireThat(hashOf(parties) === close.parties, 'the parties are not those of the close')
  const [held, unstated] = cellsIn(accruals, 2, 'proof.accruals')
  const [issuer, customer] = cellsIn(parties, 2, 'proof.parties')
  const details = {
    sums: listIn(sums, 'proof.sums').map((row, n) => sumOf(row, `proof.sums[${n}]`)),
    refunds: listIn(refunds, 'proof.refunds').map((row, n) => {
      const what = `proof.refunds[${n}]`
      const [statement, amount, postings] = cellsIn(row, 3, what)
      readPico(amount)
      return {
        statement: orNull(textIn, statement, what),
        amount: textIn(amount, what),
        postings: countIn(postings, what),
      }
    }),
    accruals: { held: textIn(held, 'accruals'), unstated: textIn(unstated, 'accruals') },
    issuer: partyOf(issuer, ['legal_name', 'address', 'country', 'tax_id'], 'issuer'),
    customer: partyOf(
      customer,
      ['legal_name', 'address', 'country', 'tax_id', 'po_number'],
      'customer',
    ),
  }
  for (const amount of [held, unstated]) readPico(amount)
  checkSums(details, close)
  return details
}

function sumOf(row: JsonValue, what: string): SkuFacts {
  const [sku, unit, quantity, amount, lines] = cellsIn(row, 5, what)
  readPico(amount)
  return {
    sku: textIn(sku, what),
    unit: orNull(textIn, unit, what),
    quantity: orNull(countIn, quantity, what),
    amount: textIn(amount, what),
    lines: countIn(lines, what),
  }
}

function partyOf(value: JsonValue | undefined, names: readonly string[], what: string): JsonObject {
  const cells = cellsIn(value, names.length, `the ${what} of proof.parties`)
  return Object.fromEntries(names.map((name, index) => [name, cells[index] ?? null]))
}

function checkSums({ sums, refunds }: Details, { movements }: CloseFacts): void {
  const sumOfAmounts = (rows: readonly { readonly amount: string }[]): bigint =>
    rows.reduce((sum, { amount }) => sum + readPico(amount), 0n)
  requireThat(
    new Set(sums.map(({ sku }) => sku)).size === sums.length,
    'a SKU has two rows in proof.sums',
  )
  requireThat(
    -sumOfAmounts(sums) === readPico(movements.settled),
    'the sums by SKU do not add up to what was settled',
  )
  requireThat(
    sumOfAmounts(refunds) === readPico(movements.adjusted_usage),
    'the refunds do not add up to the adjustments of usage',
  )
}

/** All that a statement shows, but its status. */
function shownOf(close: CloseFacts, details: Details): JsonObject {
  const usage = details.sums.map(({ sku, quantity, unit, amount }) => {
    return { kind: 'usage', key: sku, quantity, unit, exact: negated(amount) }
  })
  const others = movementNames.flatMap((kind) => {
    const exact = close.movements[kind]
    if (kind === 'settled' || exact === '0') return []
    return [{ kind, key: kind, quantity: null, unit: null, exact }]
  })
  const rows = [...usage, ...others]
  const shown = showMovements(
    readPico(close.opening),
    rows.map(({ kind, key, exact }) => ({ name: `${kind} ${key}`, pico: readPico(exact) })),
  )
  return {
    object: 'statement',
    notice: 'This statement is not a tax invoice.',
    number: close.statement,
    tenant_id: close.tenant,
    currency: close.currency,
    month: close.month,
    time_zone: close.timeZone,
    from: close.from,
    to: close.to,
    position: close.position,
    postings: close.postings,
    late: close.late,
    issuer: details.issuer,
    customer: details.customer,
    opening: shown.opening,
    closing: shown.closing,
    exact: { opening: close.opening, closing: close.closing },
    rows: rows.map((row, index) => ({ ...row, shown: shown.movements[index] ?? '' })),
    refunds: details.refunds.map((refund) => ({ ...refund })),
    accruals: { ...details.accruals },
  }
}

/** Where a value first differs from another one, in words. */
function differenceOf(given: JsonValue, expected: JsonValue, at: string): string | undefined {
  if (typeof given !== 'object' || typeof expected !== 'object' || !given || !expected)
    return given === expected
      ? undefined
      : `${at} is ${shownText(JSON.stringify(given))}, and by the close it is ${shownText(JSON.stringify(expected))}`
  if (Array.isArray(given) !== Array.isArray(expected)) return `${at} has another form`
  const [mine, theirs] = [given, expected] as readonly [JsonObject, JsonObject]
  const nameOf = (name: string): string => {
    if (Array.isArray(given)) return `${at}[${name}]`
    return at === '' ? shownText(name) : `${at}.${shownText(name)}`
  }
  for (const name of Object.keys(theirs)) {
    if (!Object.hasOwn(mine, name)) return `${nameOf(name)} is missing`
    const difference = differenceOf(mine[name] ?? null, theirs[name] ?? null, nameOf(name))
    if (difference !== undefined) return difference
  }
  const more = Object.keys(mine).find((name) => !Object.hasOwn(theirs, name))
  return more === undefined ? undefined : `${nameOf(more)} does not follow from the close`
}
