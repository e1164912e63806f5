import type { Pool } from 'pg'
import { countUpTo, rowsAfter } from '../../../projections/engine/audited-rows.ts'
import { ledgerTables } from '../../../projections/ledger/query.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { DomainError } from '../../kernel/errors.ts'
import { Balances } from './balances.ts'
import { rowDiffers, rowMissing } from './compare.ts'
import { ledgerStretches } from './ledger-rows.ts'
import type { Findings } from './findings.ts'
import { chained, NO_LINES } from './line-chain.ts'
import { BEFORE_ALL_ROWS, type LogPass } from './log-pass.ts'
import type { ReadModel } from './read-models.ts'
import { inSnapshot } from './snapshot.ts'
import type { AuditState, Beginning } from './state.ts'
import type { WalkedTable } from './stream-walk.ts'

/** Lines read in one snapshot. */
const PAGE_LINES = 5_000

/** Whole numbers, as a state has them: the members that are named, decimal. */
function toText<K extends string>(of: Readonly<Record<K, bigint>>, ...names: readonly K[]) {
  return Object.fromEntries(names.map((name) => [name, of[name].toString()])) as Record<K, string>
}

function toWhole<K extends string>(of: Readonly<Record<K, string>>, ...names: readonly K[]) {
  return Object.fromEntries(names.map((name) => [name, BigInt(of[name])])) as Record<K, bigint>
}

const balanceMembers = [
  'granted',
  'adjusted',
  'refunded',
  'expired',
  'settled',
  'held',
  'limit',
  'position',
] as const

/** The start of a pass over the log: the state of an earlier audit, or the start of the log. */
export function beginningOf(state: AuditState | undefined): Beginning {
  const balances = new Balances()
  if (state === undefined) {
    const chain = { lines: 0n, hash: NO_LINES }
    return { position: BEFORE_ALL_ROWS, chain, balances, scopes: [], last: undefined }
  }
  for (const balance of state.balances) balances.set(balance, toWhole(balance, ...balanceMembers))
  return {
    position: BigInt(state.position),
    chain: { lines: BigInt(state.lines), hash: state.head },
    balances,
    scopes: state.scopes.map((scope) => ({ ...scope, ...toWhole(scope, 'nextSeq') })),
    last: { ...state.last, ...toWhole(state.last, 'revision', 'position') },
  }
}

/**
 * The parts that this audit takes over from the earlier one without comparing them again; of the
 * tables in `tasks` it compares only the rows of changed tasks.
 */
export function onTrust(
  { position, walk }: AuditState,
  models: readonly ReadModel[],
  tasks: readonly WalkedTable[],
): readonly string[] {
  const appended = [...ledgerStretches, ...models.flatMap(({ eventTables = [] }) => eventTables)]
    .map(({ table }) => table.name)
    .filter((name) => name !== ledgerTables.lines.name)
  const begun = models.filter(({ streamTables = [] }) => streamTables.some((of) => of.begun))
  const named = tasks.map(({ table }) => table.name).join(', ')
  return [
    `${appended.join(', ')}: rows up to position ${position}`,
    `closed months that were voided up to position ${position}`,
    ...(walk.done === undefined
      ? []
      : [`${named}: tasks without an event after position ${walk.done}`]),
    ...(walk.after === undefined ? [] : [`${named}: tasks up to ${walk.after}`]),
    `${begun.map(({ name }) => name).join(', ')}: that no row from before position ${position} is missing`,
  ]
}

/** The state from which a later audit can continue; undefined before the first event. */
export function stateOf(pass: LogPass, walk: AuditState['walk']): AuditState | undefined {
  const { position, last, chain } = pass
  if (last === undefined) return undefined
  return {
    version: 2,
    position: position.toString(),
    last: { id: last.id, stream: last.stream, ...toText(last, 'revision', 'position') },
    lines: chain.head.lines.toString(),
    head: chain.head.hash,
    balances: [...pass.balances.entries()].map(({ tenantId, currency, balance }) => ({
      tenantId,
      currency,
      ...toText(balance, ...balanceMembers),
    })),
    scopes: pass.places.scopes().map((scope) => {
      const { scopeId, tenantId, family } = scope
      return { scopeId, tenantId, family, ...toText(scope, 'nextSeq') }
    }),
    walk,
  }
}

/**
 * Checks that the log is the one the earlier audit read.
 * @throws DomainError `audit_state_foreign` when it has another event, or none, where that audit
 *   ended
 */
export async function checkSameLog(log: EventLog, { last }: AuditState): Promise<void> {
  const from = BigInt(last.revision)
  const [event] = await log.readStream(last.stream, { from, limit: 1 })
  if (event?.id !== last.id || event.position.toString() !== last.position)
    throw new DomainError(
      'audit_state_foreign',
      `the earlier audit ended at event ${last.id} of ${last.stream}, which this log does not have there: it is another log, or one from a backup; audit it from its start`,
      { position: last.position },
    )
}

/**
 * Checks the lines that an earlier audit compared with the log by their hashes alone, from the rows
 * to the head that was correct then. It finds any later change, and reports the first changed line
 * only. Returns whether all are unchanged.
 */
export async function checkEarlierLines(
  pool: Pool,
  state: AuditState,
  findings: Findings,
  onProgress: (lines: number) => void,
): Promise<boolean> {
  const table = ledgerTables.lines.name
  const last = BigInt(state.lines)
  let hash = NO_LINES
  let seq = 0n
  while (seq < last) {
    const left = Number(last - seq)
    const page = { after: seq, limit: Math.min(PAGE_LINES, left) }
    const rows = await inSnapshot(pool, ({ db }) => rowsAfter(db, ledgerTables.lines, 'seq', page))
    for (let n = 0; n < page.limit; n += 1) {
      const row = rows[n]
      seq += 1n
      if (row?.['seq'] !== seq.toString()) {
        findings.push(rowMissing({ table, key: `line ${seq} of the chain` }, {}))
        return false
      }
      hash = chained(hash, row)
      if (row['hash'] === hash) continue
      const name = { table, key: String(row['line_id']), position: row['position'] }
      findings.push(
        rowDiffers(name, [
          { field: 'hash of its content', log: String(row['hash']), stands: hash },
        ]),
      )
      return false
    }
    onProgress(Number(seq))
  }
  const count = await inSnapshot(pool, ({ db }) =>
    countUpTo(db, ledgerTables.lines, BigInt(state.position)),
  )
  if (hash === state.head && count === last) return true
  const what =
    hash === state.head
      ? `there were ${last} lines up to here, there are ${count}`
      : `lines audited before were changed together with their hashes: the head was ${state.head}, it is ${hash}`
  const message = `${what}; a full audit says which`
  const key = `line ${last} of the chain`
  findings.push({ code: 'chain_broken', table, key, position: state.position, message })
  return false
}
