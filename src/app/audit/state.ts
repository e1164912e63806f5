import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

const Whole = Type.String({ pattern: '^-?\\d{1,39}$' })

/**
 * How far an audit found everything right: what a later one needs to go on from there. It is kept by
 * the auditor, outside the database that is audited: whoever changes rows does not change this with
 * them. What came before is bound by the head of the hash chain, as the log has it.
 */
const AuditStateSchema = Type.Object(
  {
    version: Type.Literal(1),
    /** Everything up to this position was compared. */
    position: Whole,
    /** The last event up to there: a log that has another one is another log. */
    last: Type.Object({
      id: Type.String(),
      stream: Type.String(),
      revision: Whole,
      position: Whole,
    }),
    /** How many lines the log has up to there, and the hash of the last, hex. */
    lines: Whole,
    head: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    balances: Type.Array(
      Type.Object({
        tenantId: Type.String(),
        currency: Type.String(),
        granted: Whole,
        adjusted: Whole,
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
    /** The rows of tasks are compared up to this one; those before it last changed at `tasksFrom` or earlier. */
    walk: Type.Object({
      /** Rows last changed at this position or before were compared; absent before the first time. */
      done: Type.Optional(Whole),
      /** Of a comparison under way: where the log was when it began, and the last row compared. */
      began: Type.Optional(Whole),
      after: Type.Optional(Type.String()),
    }),
  },
  { additionalProperties: false },
)
export type AuditState = Static<typeof AuditStateSchema>

/** Reads what `writeState` wrote. @throws SyntaxError, TypeError for anything else */
export function parseState(text: string): AuditState {
  const value: unknown = JSON.parse(text)
  if (Value.Check(AuditStateSchema, value)) return value
  const [fault] = [...Value.Errors(AuditStateSchema, value)]
  throw new TypeError(`${fault?.path ?? ''}: ${fault?.message ?? 'not a state'}`)
}
