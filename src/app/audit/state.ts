import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import type { Balances } from './balances.ts'
import type { ChainHead } from './line-chain.ts'
import type { Scope } from './task-places.ts'

const Whole = Type.String({ pattern: '^-?\\d{1,39}$' })

/**
 * The position up to which an audit found everything correct, and the state from which a later one
 * can continue. The auditor keeps it outside the audited database, so that a person who changes
 * rows does not change it with them. The head of the hash chain, by the log, fixes everything
 * before.
 */
const AuditStateSchema = Type.Object(
  {
    version: Type.Literal(2),
    /** Everything up to this position was compared. */
    position: Whole,
    /** The last event up to there: a log with another event there is another log. */
    last: Type.Object({
      id: Type.String(),
      stream: Type.String(),
      revision: Whole,
      position: Whole,
    }),
    /** The number of lines in the log up to there, and the hash of the last, hex. */
    lines: Whole,
    head: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    balances: Type.Array(
      Type.Object({
        tenantId: Type.String(),
        currency: Type.String(),
        granted: Whole,
        adjusted: Whole,
        refunded: Whole,
        expired: Whole,
        settled: Whole,
        held: Whole,
        limit: Whole,
        position: Whole,
      }),
    ),
    scopes: Type.Array(
      Type.Object({
        scopeId: Type.Integer({ minimum: 0 }),
        tenantId: Type.String(),
        family: Type.String(),
        nextSeq: Whole,
      }),
    ),
    /** Progress of the walk over the rows of tasks. */
    walk: Type.Object({
      /** Rows last changed up to this position were compared; absent before the first walk. */
      done: Type.Optional(Whole),
      /** The log's position when a walk in progress began, and the last row it compared. */
      began: Type.Optional(Whole),
      after: Type.Optional(Type.String()),
    }),
  },
  { additionalProperties: false },
)
export type AuditState = Static<typeof AuditStateSchema>

/** Parses a state that was kept as JSON. @throws SyntaxError, TypeError for anything else */
export function parseState(text: string): AuditState {
  const value: unknown = JSON.parse(text)
  if (Value.Check(AuditStateSchema, value)) return value
  const [fault] = [...Value.Errors(AuditStateSchema, value)]
  throw new TypeError(`${fault?.path ?? ''}: ${fault?.message ?? 'not a state'}`)
}

/** The state that a pass over the log starts from. */
export interface Beginning {
  readonly position: bigint
  readonly chain: ChainHead
  readonly balances: Balances
  readonly scopes: readonly Omit<Scope, 'missing'>[]
  /** The last event before. */
  readonly last: LastEvent | undefined
}

/** An event by its positions in the log. */
export type LastEvent = Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'position'>
