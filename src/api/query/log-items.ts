import { fromTimestamp } from '../../kernel/clock.ts'
import { Type, type Static } from 'typebox'
import { successOf } from '../kit/routes/account-surface.ts'
import type { LogFacts } from './account-reads.ts'
import { shownPageMembers } from './numbered-pages.ts'
import type { LogRow } from './open-logs.ts'
import { AnsweredAsOf, Decimal, labelMembers, TextOrNull } from './schemas.ts'
import { ShownRangeMembers } from './time-range.ts'

const OrNull = <T extends ReturnType<typeof Type.String | typeof Type.Integer>>(type: T) =>
  Type.Union([type, Type.Null()])

const LogItemSchema = Type.Object(
  {
    id: Type.String({ description: 'Id of the line, the grant or the adjustment.' }),
    type: Type.String({ description: '`consume`, `refund`, `topup` or `adjust`.' }),
    created_at: Type.Integer({ description: 'Unix seconds.' }),
    tenant_id: Type.String(),
    user_id: TextOrNull('User of the request; null for a grant or an adjustment of the tenant.'),
    token_id: TextOrNull('Token of the request.'),
    token_name: TextOrNull('Current name of the token.'),
    model: TextOrNull('External name of the model.'),
    endpoint: TextOrNull('Path of the request.'),
    task_id: TextOrNull('Native id of the task; null for a call.'),
    platform_id: TextOrNull('Our id of the task, or id of the call.'),
    request_id: TextOrNull('Id of the request that began it.'),
    status: Type.String({ description: '`settled`, or `posted` for a grant or an adjustment.' }),
    sku: TextOrNull('SKU that was sold.'),
    quantity: OrNull(Type.Integer({ description: 'Number of units.' })),
    unit: TextOrNull('Unit of the quantity.'),
    currency: Type.String(),
    amount: Decimal,
    usage: Type.Union([Type.Record(Type.String(), Type.Integer()), Type.Null()], {
      description: 'Usage of the whole result, by unit.',
    }),
    is_stream: Type.Union([Type.Boolean(), Type.Null()], {
      description: 'Whether the answer was streamed; null for a task.',
    }),
    duration_ms: OrNull(Type.Integer({ description: 'Time from the request to the settlement.' })),
    position: Type.String({ description: 'Position in the log.' }),
    ...labelMembers,
    reason: TextOrNull('Why credit was given or taken, in words.'),
    code: TextOrNull('Why an adjustment was posted, as one of a few words.'),
    credit: TextOrNull('`paid` or `promotional`, of a grant.'),
  },
  { named: 'LogItem' },
)
type LogItem = Static<typeof LogItemSchema>

export const LogsAnswerSchema = successOf(
  Type.Object({
    ...shownPageMembers,
    ...ShownRangeMembers,
    as_of: AnsweredAsOf,
    items: Type.Array(LogItemSchema),
  }),
)

/** Columns of the CSV, in the order in which the API shows them. */
export const logColumns = Object.keys(LogItemSchema.properties) as readonly (keyof LogItem)[]

function isUsage(value: unknown): value is Readonly<Record<string, number>> {
  return typeof value === 'object' && value !== null
}

function isTags(value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null
}

function numberOr<Other>(value: unknown, other: Other): number | Other {
  return typeof value === 'number' ? value : other
}

/** Time of the settled request, Unix milliseconds. */
function begunAtMs(row: LogRow, facts: LogFacts): number | undefined {
  const startedAt = facts.events.get(row.position)?.data['startedAt']
  if (typeof startedAt === 'string') return fromTimestamp(startedAt)
  return row.sourceId === null ? undefined : facts.requestedAtMs.get(row.sourceId)
}

/** A row with its further facts; a fact that is not known yet is null. */
export function toLogItem(
  row: LogRow,
  facts: LogFacts,
  endpoints: Readonly<Record<string, string>>,
): LogItem {
  const event = row.kind === 'consume' ? facts.events.get(row.position)?.data : undefined
  const begunMs = row.kind === 'consume' ? begunAtMs(row, facts) : undefined
  const usage = event?.['usage']
  const stream = event?.['stream']
  const tags = event?.['tags']
  const endUser = event?.['endUser']
  return {
    id: row.id,
    type: row.kind,
    created_at: Math.floor(row.atMs / 1_000),
    tenant_id: row.tenantId,
    user_id: row.userId,
    token_id: row.tokenId,
    token_name: row.tokenId === null ? null : (facts.tokens.get(row.tokenId)?.name ?? null),
    model: row.model,
    endpoint: row.surface === null ? null : (endpoints[row.surface] ?? row.surface),
    task_id: row.nativeId,
    platform_id: row.sourceId,
    request_id: row.requestId,
    status: row.kind === 'consume' ? 'settled' : 'posted',
    sku: row.sku,
    quantity: numberOr(row.quantity, null),
    unit: row.unit,
    currency: row.currency,
    amount: row.amount,
    usage: isUsage(usage) ? { ...usage } : null,
    is_stream: typeof stream === 'boolean' ? stream : null,
    duration_ms: begunMs === undefined ? null : Math.max(0, row.atMs - begunMs),
    position: row.position,
    tags: isTags(tags) ? { ...tags } : null,
    end_user: typeof endUser === 'string' ? endUser : null,
    reason: row.reason,
    code: row.code,
    credit: row.credit,
  }
}
