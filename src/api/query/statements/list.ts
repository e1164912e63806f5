import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Principal } from '../../../app/access/principal.ts'
import { blockerCodes, boardParts, type Statements } from '../../../app/finance/statements/types.ts'
import { partsInTurns } from '../../../kernel/turns.ts'
import { MonthMember, successOf } from '../../kit/routes/account-surface.ts'
import { principalOf } from '../../kit/tokens/authenticate.ts'
import { RequestError } from '../../kit/request-error.ts'
import { ROWS_AT_ONCE, sendList, fileMembers } from '../../kit/answers/lists.ts'
import { describeQuery } from '../documentation.ts'
import { listFailures } from '../envelope.ts'
import { NameOf } from '../schemas.ts'
import { narrow, requireWholeTenant, visibleTo } from '../scope.ts'
import type { QueryServices } from '../services.ts'
import {
  periodColumns,
  PeriodSchema,
  type ShownPeriod,
  toPeriod,
} from '../../kit/answers/periods.ts'

/** The months of accounts, closed and open: one month of all that a token sees, or all of one account. */

export const PeriodsQuerySchema = Type.Object({
  month: Type.Optional(MonthMember),
  tenant_id: NameOf('Only of this tenant.'),
  currency: Type.Optional(Type.Enum(['CNY', 'USD'], { description: 'Only in this currency.' })),
  show: Type.Optional(
    Type.Enum([...boardParts, ...blockerCodes], {
      description:
        'Only rows of a board in this state or with this blocker; the blocked ones first.',
    }),
  ),
  ...fileMembers,
})

const PeriodsAnswerSchema = successOf(Type.Object({ items: Type.Array(PeriodSchema) }))

type PeriodsQuery = Partial<Static<typeof PeriodsQuerySchema>>

/** A row of a table has its blockers in words. */
const toTableRow = ({ blockers, ...row }: ShownPeriod) => ({
  ...row,
  blockers: blockers.map(({ message }) => message).join('; '),
})

/** The board of a month, or one account month by month: `periods` of the query API. */
export async function readPeriods(
  { queries }: Pick<QueryServices, 'queries'>,
  principal: Principal,
  { month, currency, show, ...query }: PeriodsQuery,
) {
  requireWholeTenant(principal, 'periods')
  const { tenantId } = narrow(visibleTo(principal), {
    tenantId: query.tenant_id,
    userId: undefined,
  })
  const page = { items: (await rowsOf()).map(toPeriod) }
  return {
    name: ['periods', ...[month, tenantId, currency].filter((part) => part !== undefined)].join(
      '-',
    ),
    columns: periodColumns,
    page: () => Promise.resolve(page),
    rows: () => partsInTurns(page.items.map(toTableRow), ROWS_AT_ONCE),
  }

  function rowsOf() {
    const tenantIds = tenantId === undefined ? undefined : [tenantId]
    if (show !== undefined) return shownRows(tenantIds, show)
    if (month !== undefined) return queries.statements.board({ month, tenantIds, currency })
    if (tenantId !== undefined && currency !== undefined)
      return queries.statements.months({ tenantId, currency })
    throw new RequestError(
      'parameter_invalid',
      'month is missing: name a month, or a tenant_id and a currency for all months of an account',
      'month',
    )
  }

  async function shownRows(
    tenantIds: readonly string[] | undefined,
    part: NonNullable<PeriodsQuery['show']>,
  ) {
    if (month === undefined)
      throw new RequestError('parameter_invalid', 'show needs the month of a board', 'show')
    const whole = { show: part, skip: 0, limit: Number.MAX_SAFE_INTEGER }
    return (await queries.statements.boardPage({ month, tenantIds, currency, ...whole })).rows
  }
}

/** A page of the board of a month, as a person looks at it. @throws DomainError `scope_denied` */
export async function readBoardPage(
  { queries }: Pick<QueryServices, 'queries'>,
  principal: Principal,
  {
    tenant_id: asked,
    ...page
  }: Omit<Parameters<Statements['boardPage']>[0], 'tenantIds'> & {
    readonly tenant_id: string | undefined
  },
) {
  requireWholeTenant(principal, 'periods')
  const { tenantId } = narrow(visibleTo(principal), { tenantId: asked, userId: undefined })
  const tenantIds = tenantId === undefined ? undefined : [tenantId]
  const { rows, ...counted } = await queries.statements.boardPage({ ...page, tenantIds })
  return { ...counted, items: rows.map(toPeriod) }
}

export function periodsRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/periods',
    {
      config: { roles: ['finance'] },
      schema: {
        ...describeQuery({
          operationId: 'listPeriods',
          summary: 'List the months of accounts, closed and open',
          ok: PeriodsAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: PeriodsQuerySchema,
      },
    },
    async (request, reply) => {
      const list = await readPeriods(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}
