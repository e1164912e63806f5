import type { LRUCache } from 'lru-cache'
import { inMilliseconds, placeOfPosting } from '../../../../projections/ledger/query.ts'
import {
  listPeriods,
  periodOf,
  type PeriodRow,
  standingPeriods,
  type WholePeriod,
} from '../../../../projections/statements/query.ts'
import { type PeriodClosed, periodIdOf } from '../../../domain/statement/events.ts'
import { fromTimestamp } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { Log } from '../../../kernel/log.ts'
import { createLru } from '../../../kernel/lru.ts'
import { writeProof } from '../../../kernel/signed-note.ts'
import type { CloseDeps } from './close.ts'
import { readBillingAt } from './closing-account.ts'
import { sinceOf } from './figures.ts'
import { closeLeaf, partyRows, type PeriodBounds, readLeaves, sumRows } from './leaves.ts'
import { type ClosedTree, type LeafProof, proveLeaf, storeTree } from './tiles.ts'
import { readIssuer } from './issuer.ts'
import type { CloseOf, Statements } from './types.ts'

/** Hands out the postings of closed months, and proofs that a leaf is among them. */

/** Leaves of closes that are kept, each below 2 KB. */
const MAX_FIRST_LEAVES = 1_000
/** A tree of a million postings is built in less than half a minute. */
const RETRY_MS = 5_000

type Proofs = Pick<
  Statements,
  'boundsOf' | 'postings' | 'proofOfClose' | 'periodOfLine' | 'proofOfLine'
>
type Parties = ReturnType<typeof partyRows>

/** A close that its proof shows, and its tree. */
interface Proven {
  readonly period: WholePeriod
  readonly parties: Parties
  readonly tree: ClosedTree
}

export function createProofs(deps: CloseDeps & { readonly logger: Log }): Proofs {
  const reader = new ClosedTrees(deps)
  return {
    boundsOf: async (of) => {
      const period = await requirePeriod(deps, of)
      return { bounds: await boundsOf(deps, period), timeZone: period.closed.timeZone }
    },
    postings: (of) => postingsOf(deps, reader, of),
    proofOfClose: async (of) => {
      const { period, parties, tree } = await reader.ofMonth(of)
      const { leaf, path } = await reader.prove(tree, undefined)
      const { closed, sums, refunds } = period
      return {
        leaf,
        sums: sumRows({ ...closed, sums, refunds }),
        parties,
        path: path.map((each) => each.toString('base64')),
        checkpoint: closed.checkpoint,
      }
    },
    periodOfLine: async (of) => (await periodOfLine(deps, of)).period.closed,
    proofOfLine: async ({ tenantId, lineId }) => {
      const { period, place } = await periodOfLine(deps, { tenantId, lineId })
      const { leaf, index, path } = await reader.prove(await reader.of(period), place)
      const { checkpoint } = period.closed
      return writeProof({ extra: Buffer.from(leaf, 'utf8'), index, path, checkpoint })
    },
  }
}

/**
 * Finds a close of a month. A void one keeps its tree: its statement still shows what it was.
 * @throws DomainError `period_not_found`
 */
export async function requirePeriod(
  { db }: Pick<CloseDeps, 'db'>,
  of: CloseOf,
): Promise<WholePeriod> {
  const period = await periodOf(db, of)
  if (period !== undefined) return period
  const { month, currency, statement } = of
  const why =
    statement === undefined
      ? `${month} is not closed in ${currency}`
      : `${month} has no statement ${statement} in ${currency}`
  throw new DomainError('period_not_found', why, { month })
}

async function boundsOf(
  { db }: Pick<CloseDeps, 'db'>,
  { closed }: PeriodRow,
): Promise<PeriodBounds> {
  const { tenantId, currency, from, to, position, late, previous } = closed
  // The month before a void one may be void as well, and closed again at another position.
  const periods = await listPeriods(db, { tenantId, currency })
  const before = periods.filter((row) => row.closed.root === previous?.root)
  return {
    tenantId,
    currency,
    fromMs: fromTimestamp(from),
    toMs: fromTimestamp(to),
    asOf: BigInt(position),
    since: sinceOf(before.map((row) => row.closed)),
    late,
  }
}

async function* postingsOf(
  { db }: CloseDeps,
  reader: ClosedTrees,
  of: CloseOf,
): AsyncGenerator<string> {
  const { tree } = await reader.ofMonth(of)
  yield `${tree.first}\n`
  for await (const leaves of readLeaves(db, tree.bounds))
    if (leaves.length > 0) yield leaves.map(({ text }) => `${text}\n`).join('')
}

/** @throws DomainError `line_not_found`, `line_open` */
async function periodOfLine(
  { db }: CloseDeps,
  { tenantId, lineId }: { readonly tenantId: string; readonly lineId: string },
) {
  const found = await placeOfPosting(db, { tenantId, lineId })
  if (found === undefined)
    throw new DomainError('line_not_found', 'The tenant has no such line', { lineId })
  const { currency, ...at } = found
  const atMs = fromTimestamp(inMilliseconds(at.at))
  const standing = await standingPeriods(db, { tenantId, currency })
  const period = standing.find(
    ({ closed }) =>
      atMs < fromTimestamp(closed.to) && BigInt(at.position) <= BigInt(closed.position),
  )
  if (period === undefined)
    throw new DomainError('line_open', 'The month of this line is not closed yet', { lineId })
  const n = Number(lineId.slice(lineId.lastIndexOf(':') + 1))
  return { period, place: { ...at, n } }
}

/** Trees of closed periods by their events and by the ledger. */
class ClosedTrees {
  readonly #deps: CloseDeps & { readonly logger: Log }
  /** Leaves of closes by their roots: what a root was made of never changes. */
  readonly #firsts: LRUCache<string, string> = createLru(MAX_FIRST_LEAVES)
  /** Trees that are being built again. */
  readonly #building = new Set<string>()

  constructor(deps: CloseDeps & { readonly logger: Log }) {
    this.#deps = deps
  }

  /** @throws DomainError `period_not_found` */
  async ofMonth(of: CloseOf): Promise<Proven> {
    const period = await requirePeriod(this.#deps, of)
    const parties = await this.#partiesOf(period.closed)
    const { closed, sums, refunds } = period
    const first = closeLeaf({ ...closed, sums, refunds }, parties)
    this.#firsts.set(closed.root, first)
    return { period, parties, tree: await this.#treeOf(period, first) }
  }

  async of(period: PeriodRow): Promise<ClosedTree> {
    const first = this.#firsts.get(period.closed.root)
    if (first !== undefined) return this.#treeOf(period, first)
    return (await this.ofMonth(period.closed)).tree
  }

  async #partiesOf({
    tenantId,
    profile,
    issuer,
  }: Pick<PeriodClosed, 'tenantId' | 'profile' | 'issuer'>): Promise<Parties> {
    const { profiles } = await readIssuer(this.#deps.log)
    const ofIssuer = profiles[issuer - 1]
    if (ofIssuer === undefined) throw new Error(`there is no issuer of revision ${issuer}`)
    return partyRows(ofIssuer, await readBillingAt(this.#deps, tenantId, profile))
  }

  async #treeOf(period: PeriodRow, first: string): Promise<ClosedTree> {
    const { closed } = period
    const { tenantId, postings, root } = closed
    return {
      tenantId,
      periodId: periodIdOf(closed),
      bounds: await boundsOf(this.#deps, period),
      first,
      size: postings + 1,
      root: Buffer.from(root, 'base64'),
    }
  }

  /** @throws DomainError `read_model_behind` while the tree is built again */
  async prove(tree: ClosedTree, place: Parameters<typeof proveLeaf>[2]): Promise<LeafProof> {
    const proof = await proveLeaf(this.#deps.db, tree, place)
    if (proof !== undefined) return proof
    void this.#rebuild(tree)
    throw new DomainError(
      'read_model_behind',
      'The proof is being prepared: try again in a few seconds',
      { retryAfterMs: RETRY_MS },
    )
  }

  /** Builds the tiles of a tree again, once at a time. */
  async #rebuild(tree: ClosedTree): Promise<void> {
    const { tenantId, periodId, bounds, first, root } = tree
    const key = JSON.stringify([tenantId, periodId])
    if (this.#building.has(key)) return
    this.#building.add(key)
    const { db, buildTree, logger } = this.#deps
    try {
      const { asOf, since, ...of } = bounds
      const built = await buildTree({ ...of, asOf: String(asOf), since: String(since), first })
      if (built.root === root.toString('base64')) await storeTree(db, tree, built)
      else logger.error({ tenantId, periodId }, 'the ledger has other postings than a closed month')
    } catch (error) {
      logger.warn({ err: error, tenantId, periodId }, 'the tree of a statement was not built')
    } finally {
      this.#building.delete(key)
    }
  }
}
