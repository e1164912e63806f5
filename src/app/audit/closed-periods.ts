import { hash } from 'node:crypto'
import type { Pool } from 'pg'
import { canonicalTime } from '../../../projections/engine/audited-rows.ts'
import { accountStream } from '../../domain/account/events.ts'
import { issuerStream } from '../../domain/issuer/events.ts'
import { type PeriodClosed, periodIdOf, statementStream } from '../../domain/statement/events.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { parseAmount } from '../../kernel/money.ts'
import type { Finding, Findings } from './findings.ts'
import { PeriodChain, type PeriodClosedEvent } from './period-chain.ts'
import { PeriodSums } from './period-figures.ts'
import { headFault } from './period-head.ts'
import { postingsOf } from './period-postings.ts'
import { digestOfLeaf, SecondTree } from './second-tree.ts'
import { readEach, readTo } from './streams.ts'

/**
 * Checks each closed month by docs/verify.md alone, and shares no code with the close: whether it follows from the
 * closes before it, its figures and counts, its root, and who signed it. Of what the close says, these stay unchecked:
 * which statement a refund is of, and costs that were not settled yet, but for what the root covers.
 */

interface Deps {
  readonly pool: Pool
  readonly log: EventLog
  readonly findings: Findings
}

/** A party of a statement as its hash has it, by the revision of its profile. */
type Parties = Map<number, readonly unknown[]>

interface Profile {
  readonly legalName: string
  readonly address: readonly string[]
  readonly country: string
  readonly taxId?: string | undefined
}

function partyOf({ legalName, address, country, taxId }: Profile): readonly unknown[] {
  return [legalName, address, country, taxId ?? null]
}

function sha256(content: unknown): string {
  return hash('sha256', JSON.stringify(content), 'base64')
}

/** A fault of a close; a cause is reported before faults that follow from it. */
type Fault = Pick<Finding, 'code' | 'message' | 'differences'>

const CLOSE_AGAIN = 'void the statement and close the month again'
const CHANGED_SINCE =
  'An earlier audit found it right: where a row was changed since, a full audit says which, and the statement stands'

/** Memory grows with tenants and their closed months, not with postings. */
export class ClosedPeriods {
  readonly #deps: Deps
  readonly #wholeLog: boolean
  /** Tenants whose earlier events were all read. */
  readonly #recalled = new Set<string>()
  readonly #chains = new Map<string, PeriodChain>()
  readonly #customers = new Map<string, Parties>()
  readonly #issuers: Parties = new Map()
  readonly #keys: { readonly vkey: string; readonly position: bigint }[] = []

  /** @param wholeLog the audit starts with the log, so there are no earlier events to read */
  constructor(deps: Deps, wholeLog: boolean) {
    this.#deps = deps
    this.#wholeLog = wholeLog
  }

  /**
   * Takes the events of a stretch whose rows were compared.
   *
   * @param upTo position of the stretch before
   * @param isInLedger whether the rows of the ledger were compared up to here
   */
  async take(events: readonly RecordedEvent[], upTo: bigint, isInLedger: boolean): Promise<void> {
    await this.#recall(events, upTo)
    for (const event of events) {
      if (event.type !== 'PeriodClosed') this.#note(event)
      else {
        const chain = this.#chainOf(event.data.tenantId)
        const faults = await this.#faultsOf(event, chain, isInLedger)
        for (const fault of faults) this.#find(event, fault)
        chain.close(event.data, faults.length > 0)
      }
    }
  }

  /**
   * Checks months again that an earlier audit has checked and that stand: their roots show whether a row of theirs was
   * changed since, also one that is compared with the log only once.
   */
  async checkAgain(tenants: Iterable<string>, upTo: bigint): Promise<void> {
    await this.#recallIssuer(upTo)
    for (const tenant of new Set(tenants)) await this.#recallTenant(tenant, upTo, true)
  }

  /** Reads what an audit before this one has checked, as far as the closes of a stretch depend on it. */
  async #recall(events: readonly RecordedEvent[], upTo: bigint): Promise<void> {
    if (this.#wholeLog) return
    const closed = events.flatMap((event) =>
      event.type === 'PeriodClosed' || event.type === 'PeriodVoided' ? [event.data.tenantId] : [],
    )
    const unknown = new Set(closed.filter((tenant) => !this.#recalled.has(tenant)))
    if (unknown.size > 0) await this.#recallIssuer(upTo)
    await readEach(unknown, (tenant) => this.#recallTenant(tenant, upTo, false))
  }

  async #recallIssuer(upTo: bigint): Promise<void> {
    if (this.#recalled.size > 0) return
    for await (const event of readTo(this.#deps.log, issuerStream, upTo)) this.#note(event)
  }

  /** Reads the closes of a tenant, and what they depend on. */
  async #recallTenant(tenant: string, upTo: bigint, isChecked: boolean): Promise<void> {
    const { log } = this.#deps
    this.#recalled.add(tenant)
    const events: RecordedEvent[] = []
    for await (const event of readTo(log, statementStream(tenant), upTo)) events.push(event)
    if (events.length === 0) return
    for await (const event of readTo(log, accountStream(tenant), upTo)) this.#note(event)
    const voided = new Set(
      events.flatMap(({ type, data }) => (type === 'PeriodVoided' ? [periodIdOf(data)] : [])),
    )
    const chain = this.#chainOf(tenant)
    for (const event of events) {
      if (event.type !== 'PeriodClosed') this.#note(event)
      else {
        const isAgain = isChecked && !voided.has(periodIdOf(event.data))
        const faults = isAgain ? await this.#faultsOf(event, chain, true) : []
        for (const { message, ...fault } of faults)
          this.#find(event, { ...fault, message: `${message}. ${CHANGED_SINCE}` })
        chain.close(event.data, faults.length > 0)
      }
    }
  }

  /** Remembers what later closes depend on. */
  #note({ type, data, position }: RecordedEvent): void {
    if (type === 'StatementKeyPublished') this.#keys.push({ vkey: data.vkey, position })
    else if (type === 'IssuerProfileSet') this.#issuers.set(data.revision, partyOf(data))
    else if (type === 'PeriodVoided') this.#chainOf(data.tenantId).void(data)
    else if (type === 'BillingProfileSet') {
      const parties = this.#customers.get(data.tenantId) ?? new Map<number, readonly unknown[]>()
      parties.set(data.revision, [...partyOf(data), data.poNumber ?? null])
      this.#customers.set(data.tenantId, parties)
    }
  }

  #chainOf(tenantId: string): PeriodChain {
    const chain = this.#chains.get(tenantId) ?? new PeriodChain()
    this.#chains.set(tenantId, chain)
    return chain
  }

  #find({ data, position }: RecordedEvent<PeriodClosedEvent>, fault: Fault): void {
    const key = `${data.statement} of ${data.tenantId}, ${periodIdOf(data)}`
    this.#deps.findings.push({ table: 'log', key, position: position.toString(), ...fault })
  }

  /** At most one fault of the close itself, as the others follow from it, and one of its signature. */
  async #faultsOf(
    event: RecordedEvent<PeriodClosedEvent>,
    chain: PeriodChain,
    isInLedger: boolean,
  ): Promise<readonly Fault[]> {
    const { data } = event
    const gap = gapOf(event, chain)
    const wrong = gap ?? (isInLedger ? await this.#postedFault(data, chain) : undefined)
    const keys = this.#keys.filter(({ position }) => position < event.position)
    const vkeys = keys.map(({ vkey }) => vkey)
    const unsigned = headFault(data, vkeys, wrong === undefined)
    const signature: Fault | undefined =
      unsigned === undefined
        ? undefined
        : {
            code: 'period_signature_wrong',
            message: `${unsigned}: do not hand out this statement; ask who has an earlier copy for its checkpoint, and ${CLOSE_AGAIN}`,
          }
    return [wrong, signature].filter((fault) => fault !== undefined)
  }

  /** Compares figures and root with the postings; wrong rows are findings already, and excuse both. */
  async #postedFault(data: PeriodClosed, chain: PeriodChain): Promise<Fault | undefined> {
    const { pool, findings } = this.#deps
    const last = chain.lastOf(data.currency)
    const isFollowed = last !== undefined && !last.isWrong
    const from = isFollowed ? last.to : data.from
    const { tenantId, currency, to } = data
    const before = last && { to: from, position: last.position }
    const members = { tenantId, currency, to, position: BigInt(data.position), before }
    const sums = new PeriodSums(from)
    const tree = new SecondTree()
    tree.append(digestOfLeaf(Buffer.from(JSON.stringify(this.#closeLeaf(data)))))
    for await (const posting of postingsOf(pool, members)) {
      sums.add(posting)
      tree.append(digestOfLeaf(Buffer.from(posting.leaf)))
    }
    if (findings.of('ledger')) return undefined
    const opening = last?.isWrong ? data.opening : (last?.closing ?? '0')
    const differences = sums.differences(data, parseAmount(opening))
    if (differences.length > 0) {
      const parts = differences.map(
        ({ field, log, stands }) => `${field} is ${log}, its postings give ${stands}`,
      )
      const message = `${parts.join('; ')}: ${CLOSE_AGAIN}`
      return { code: 'period_figures_wrong', message, differences }
    }
    const root = tree.root()?.toString('base64') ?? ''
    if (root === data.root) return undefined
    const unknown = this.#unknownParties(data)
    const why = unknown.length === 0 ? '' : `, since the log has no ${unknown.join(' and no ')}`
    return {
      code: 'period_root_wrong',
      message: `the root is ${data.root}, that of what the close says and of its postings is ${root}${why}: no file of it verifies; ${CLOSE_AGAIN}`,
      differences: [{ field: 'root', log: data.root, stands: root }],
    }
  }

  #unknownParties({ tenantId, profile, issuer }: PeriodClosed): readonly string[] {
    return [
      ...(this.#customers.get(tenantId)?.has(profile) ? [] : [`billing details ${profile}`]),
      ...(this.#issuers.has(issuer) ? [] : [`profile ${issuer} of the issuer`]),
    ]
  }

  /** Leaf 0 by what the close says, which was compared before. */
  #closeLeaf(data: PeriodClosed): readonly unknown[] {
    const { granted, adjusted, accruals, previous } = data
    const sums = data.sums.map(({ sku, unit, quantity, amount, lines }) => {
      return [sku, unit, quantity, amount, lines]
    })
    const refunds = data.refunds.map(({ statement, amount, postings }) => {
      return [statement, amount, postings]
    })
    const customer = this.#customers.get(data.tenantId)?.get(data.profile) ?? null
    const parties = [this.#issuers.get(data.issuer) ?? null, customer]
    return [
      ['close', 1, data.tenantId, data.currency, data.statement, data.n, data.attempt],
      [data.month, data.timeZone, data.from, data.to, data.position, data.opening],
      [granted.paid, granted.promotional, adjusted.usage, adjusted.grants],
      [data.expired, data.settled, data.closing, data.postings, data.late],
      [previous?.root ?? null, sha256([sums, refunds, [accruals.held, accruals.unstated]])],
      [sha256(parties)],
    ].flat()
  }
}

function isTime(text: string): boolean {
  try {
    return canonicalTime(text) !== ''
  } catch {
    return false
  }
}

function gapOf(event: RecordedEvent<PeriodClosedEvent>, chain: PeriodChain): Fault | undefined {
  const { from, to, position } = event.data
  const faults = [...chain.faultsOf(event)]
  if (!isTime(from) || !isTime(to)) faults.push(`it is from ${from} to ${to}`)
  if (BigInt(position) >= event.position)
    faults.push(`its position is ${position}, which the log had not reached`)
  const last = chain.lastOf(event.data.currency)
  if (last !== undefined && !last.isWrong && BigInt(position) < last.position)
    faults.push(`its position is ${position}, before that of the last period, ${last.position}`)
  if (faults.length === 0) return undefined
  const message = `the close does not follow from those before it: ${faults.join('; ')}; its figures were not compared; compare the log with a backup, and ${CLOSE_AGAIN}`
  return { code: 'period_gap', message }
}
