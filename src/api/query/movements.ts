import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import { MAX_CREDITS, type Movement } from '../../app/finance/movements.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { formatAmount } from '../../kernel/money.ts'
import { successOf } from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { RequestError } from '../kit/request-error.ts'
import { sendList, wholeList } from '../kit/answers/lists.ts'
import { describeQuery } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { periodsOf } from './periods.ts'
import { accountMembers, factsOf, readReport } from './report-query.ts'
import { AnsweredAsOf, TextOrNull } from './schemas.ts'
import { requireWholeTenant } from './scope.ts'
import type { QueryServices } from './services.ts'
import { readZone, shownRange, ShownRangeMembers } from './time-range.ts'

/** An account as a bank shows it. */

const { since: _, ...rangeMembers } = accountMembers
export const MovementsQuerySchema = Type.Object({
  ...rangeMembers,
  // One account is of one currency.
  currency: Type.Enum(['CNY', 'USD'], { description: 'The currency of the account.' }),
})

const Signed = (description: string) => Type.String({ description, examples: ['-7.588794'] })

const MovementSchema = Type.Object(
  {
    date: Type.String({ description: 'Day of `tz`.', examples: ['2026-11-26'] }),
    kind: Type.Enum(['grant', 'refund', 'adjustment', 'usage'], {
      description: '`usage`: all that was settled on the day.',
    }),
    amount: Signed('Exact decimal: positive gave to the tenant.'),
    balance: Signed('The balance after it.'),
    id: TextOrNull('Id of the grant or the adjustment; null for usage.'),
    posted_at: TextOrNull('RFC 3339; null for usage.'),
    description: Type.String({ examples: ['credit bought'] }),
    reference: TextOrNull('The invoice or payment that a grant stands for.'),
    code: TextOrNull('Why an adjustment was posted, as one of a few words.'),
    reason: TextOrNull('Why credit was given or taken, in words.'),
    line_id: TextOrNull('The adjusted line.'),
    grant_id: TextOrNull('The adjusted grant.'),
    lines: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Settled lines of usage; null for other movements.',
    }),
  },
  { named: 'Movement' },
)
type Shown = Static<typeof MovementSchema>

const movementColumns = Object.keys(MovementSchema.properties) as readonly (keyof Shown)[]

const MovementsAnswerSchema = successOf(
  Type.Object({
    tenant_id: Type.String(),
    currency: Type.String(),
    tz: Type.String(),
    ...ShownRangeMembers,
    as_of: AnsweredAsOf,
    opening: Signed('The balance at the beginning.'),
    closing: Signed('The balance at the end: the opening and all items.'),
    items: Type.Array(MovementSchema, {
      description: 'Oldest first; the usage of a day stands behind its credits.',
    }),
  }),
)

/** A movement as the API shows it. */
function toMovement(movement: Movement): Shown {
  const { date, amountPico, balancePico } = movement
  const money = { amount: formatAmount(amountPico), balance: formatAmount(balancePico) }
  if (movement.kind === 'usage') {
    const { requests, lines } = movement.usage
    const none = { id: null, posted_at: null, reference: null, code: null, reason: null }
    return {
      date,
      kind: 'usage',
      ...money,
      ...none,
      description: requests === 1 ? '1 request' : `${requests} requests`,
      line_id: null,
      grant_id: null,
      lines,
    }
  }
  const { credit } = movement
  return {
    date,
    ...wordsOf(movement),
    ...money,
    id: credit.id,
    posted_at: toTimestamp(credit.postedAtMs),
    reference: credit.reference,
    code: credit.code,
    reason: credit.reason,
    line_id: credit.lineId,
    grant_id: credit.grantId,
    lines: null,
  }
}

function wordsOf({ credit, amountPico }: Extract<Movement, { kind: 'credit' }>) {
  if (credit.kind === 'grant')
    return {
      kind: 'grant' as const,
      description: credit.credit === 'promotional' ? 'promotional credit' : 'credit bought',
    }
  const isGiven = amountPico > 0n
  if (credit.lineId === null)
    return {
      kind: 'adjustment' as const,
      description: isGiven ? 'credit given again' : 'credit taken back',
    }
  return isGiven
    ? { kind: 'refund' as const, description: `refund of ${credit.lineId}` }
    : { kind: 'adjustment' as const, description: `refund of ${credit.lineId} taken back` }
}

/** An account by days, with opening, closing and running balance: `movements` of the query API. */
export async function readMovements(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: Partial<Static<typeof MovementsQuerySchema>> &
    Pick<Static<typeof MovementsQuerySchema>, 'currency'>,
) {
  const { accounts } = services.queries
  requireWholeTenant(principal, 'movements')
  const report = await readReport(services, principal, query)
  const { filter, range } = report
  const { tenantId, asOf } = filter
  if (tenantId === undefined)
    throw new RequestError('parameter_invalid', 'name the tenant of the account', 'tenant_id')
  const days = await periodsOf(accounts, filter, 'day', query.tz)
  const account = await accounts.movements({
    tenantId,
    currency: query.currency,
    ...range,
    asOf,
    zone: readZone(query.tz),
    days,
  })
  if (account === undefined)
    throw new RequestError(
      'query_too_long',
      `more than ${MAX_CREDITS} grants and adjustments: ask for a shorter time range`,
    )
  const page = {
    tenant_id: tenantId,
    currency: query.currency,
    tz: query.tz ?? 'UTC',
    ...shownRange(range),
    as_of: String(asOf),
    opening: formatAmount(account.openingPico),
    closing: formatAmount(account.closingPico),
    items: account.movements.map(toMovement),
  }
  return {
    name: `movements-${query.currency}`,
    columns: movementColumns,
    facts: factsOf(report, query.tz),
    ...wholeList(page),
  }
}

export function movementsRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/movements',
    {
      config: { roles: ['finance'] },
      schema: {
        ...describeQuery({
          operationId: 'listMovements',
          summary: 'Get an account with its opening, running and closing balance',
          ok: MovementsAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: MovementsQuerySchema,
      },
    },
    async (request, reply) => {
      const list = await readMovements(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}
