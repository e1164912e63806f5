import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { isChangePlace } from '../../../projections/timeline/query.ts'
import { userKey } from '../../../projections/access/query.ts'
import type { Principal } from '../../app/access/principal.ts'
import type { Change } from '../../app/accounts/changes.ts'
import { changeTypesFor } from '../../app/accounts/change-kinds.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { successOf } from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { NextCursor } from '../kit/routes/queries.ts'
import { RequestError } from '../kit/request-error.ts'
import type { AccountReads } from './account-reads.ts'
import { sendList, fileMembers } from '../kit/answers/lists.ts'
import { toPosition } from './as-of.ts'
import { describeQuery } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { factsOf, placeOf, positionedList } from './report-query.ts'
import { AsOf, Cursor, Limit, NameOf, TextOrNull } from './schemas.ts'
import { narrow, requireWholeTenant, type Visible, visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'
import { readTimeRange, timeRangeMembers } from './time-range.ts'

/** Changes of tenants, users, tokens, credit, settings and months: who made each, why, and what was before. */

export const ChangesQuerySchema = Type.Object({
  ...timeRangeMembers,
  tenant_id: NameOf('Only of this tenant.'),
  user_id: NameOf('Only about this user.'),
  token_id: NameOf('Only about this token.'),
  by: NameOf(
    'Only by this actor: a user by id or name, a token by id, or a name at a shell (for tokens that see all tenants).',
  ),
  as_of: Type.Optional(AsOf),
  cursor: Cursor,
  limit: Limit,
  ...fileMembers,
})
type ChangesQuery = Partial<Static<typeof ChangesQuerySchema>>

const ChangeSchema = Type.Object(
  {
    at: Type.String({ description: 'RFC 3339: when the log recorded it.' }),
    what: Type.String({ examples: ['token disabled'] }),
    tenant_id: TextOrNull('Null for a price book, which is of all tenants.'),
    user_id: TextOrNull('The user that it is about.'),
    user_name: TextOrNull('The name of that user.'),
    token_id: TextOrNull('The token that it is about.'),
    token_name: TextOrNull('The name of that token.'),
    actor: TextOrNull(
      'Who did it: a token, or the name at a shell. For a tenant, null where the operator did it.',
    ),
    actor_name: TextOrNull('The name of the person, or of the shell.'),
    actor_user_id: TextOrNull('User of the token; null for a shell.'),
    actor_tenant_id: TextOrNull('Tenant of the token; null for a shell.'),
    reason: TextOrNull('Why, where a reason was given.'),
    from: TextOrNull('What stood before, in words: only what differs. Null: nothing.'),
    to: TextOrNull('What stands since, in words: only what differs. Null: nothing.'),
    id: TextOrNull('The posting, the proposal, the statement or the price book that it is about.'),
    line_id: TextOrNull('The refunded line.'),
    position: Type.String({ description: 'Position in the log.' }),
    type: Type.String({ description: 'The type of the event.' }),
  },
  { named: 'Change' },
)
type ShownChange = Static<typeof ChangeSchema>

const ChangesAnswerSchema = successOf(
  Type.Object({
    items: Type.Array(ChangeSchema),
    next_cursor: NextCursor,
    as_of: Type.String({
      description: 'Log position that the list is as of; its cursors keep it.',
    }),
  }),
)

const columns = Object.keys(ChangeSchema.properties) as readonly (keyof ShownChange)[]

type Owners = Awaited<ReturnType<AccountReads['tokenOwners']>>
type Names = Awaited<ReturnType<AccountReads['names']>>

interface NamedChange extends Change {
  readonly owners: Owners
  readonly names: Names
}

/** The actor as the reader may see it: those of a tenant see its own people, and no operators. */
function shownActor({ actor, owners }: NamedChange, { tenantId }: Visible) {
  const none = { actor: null, actor_name: null, actor_user_id: null, actor_tenant_id: null }
  if (actor === undefined) return none
  const owner = owners.get(actor)
  if (tenantId !== undefined && owner?.tenantId !== tenantId) return none
  return {
    actor,
    actor_name: owner === undefined ? actor : (owner.userName ?? owner.userId),
    actor_user_id: owner?.userId ?? null,
    actor_tenant_id: owner?.tenantId ?? null,
  }
}

const shownChange =
  (visible: Visible) =>
  (change: NamedChange): ShownChange => {
    const { tenantId, userId, tokenId, names } = change
    const user =
      tenantId === undefined || userId === undefined ? undefined : userKey({ tenantId, userId })
    return {
      at: toTimestamp(change.atMs),
      what: change.what,
      tenant_id: tenantId ?? null,
      user_id: userId ?? null,
      user_name: (user === undefined ? undefined : names.users.get(user)) ?? null,
      token_id: tokenId ?? null,
      token_name: (tokenId === undefined ? undefined : names.tokens.get(tokenId)) ?? null,
      ...shownActor(change, visible),
      reason: change.reason === undefined || change.reason === '' ? null : change.reason,
      from: change.from ?? null,
      to: change.to ?? null,
      id: change.id ?? null,
      line_id: change.lineId ?? null,
      position: change.position,
      type: change.type,
    }
  }

/** Adds the names of the tokens and users of a page. */
async function named(
  accounts: AccountReads,
  changes: readonly Change[],
): Promise<readonly NamedChange[]> {
  const unique = (ids: readonly (string | undefined)[]) => [
    ...new Set(ids.flatMap((id) => id ?? [])),
  ]
  const users = changes.flatMap(({ tenantId, userId }) =>
    tenantId === undefined || userId === undefined ? [] : [{ tenantId, userId }],
  )
  const tokens = unique(changes.map(({ tokenId }) => tokenId))
  const [owners, names] = await Promise.all([
    accounts.tokenOwners(unique(changes.map(({ actor }) => actor))),
    accounts.names({ tenants: [], users, tokens }),
  ])
  return changes.map((change) => ({ ...change, owners, names }))
}

/** Reads who acted, by any name. @throws RequestError for one who changed nothing and has no token */
async function actorsOf(
  accounts: AccountReads,
  by: string | undefined,
  tenantId: string | undefined,
): Promise<readonly string[] | undefined> {
  if (by === undefined) return undefined
  const actors = await accounts.changeActors(by, tenantId)
  if (actors !== undefined) return actors
  const words = `there is no person or token \`${by}\`, and no change by a shell of this name`
  throw new RequestError('parameter_invalid', words, 'by')
}

/** Changes, newest first: `changes` of the query API. */
export async function readChanges(
  { queries, clock }: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: ChangesQuery,
) {
  requireWholeTenant(principal, 'changes')
  const visible = visibleTo(principal)
  const { role } = principal
  const { asOf, ...place } = placeOf(['changes', { ...visible, role }], query, isChangePlace)
  const { accounts } = queries
  const { tenant_id: asked, user_id: userId, token_id: tokenId, by } = query
  const { tenantId } = narrow(visible, { tenantId: asked, userId: undefined })
  const isOfAll = tenantId === undefined && userId === undefined && tokenId === undefined
  const filter = {
    tenantId,
    userId,
    tokenId,
    types: changeTypesFor(role),
    actors: await actorsOf(accounts, by, visible.tenantId),
    withBooks: isOfAll && role !== 'support',
    ...readTimeRange(query, clock.nowMs()),
    asOf: await accounts.failurePosition(toPosition(asOf)),
  }
  const list = positionedList(
    { ...place, limit: query.limit },
    { filter },
    async (page) => {
      const { items, next } = await accounts.changes(filter, page)
      return { items: await named(accounts, items), next }
    },
    shownChange(visible),
  )
  return { name: 'changes', columns, ...list, facts: factsOf({ filter }, query.tz) }
}

/** Changes, newest first. */
export function changesRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/changes',
    {
      config: { roles: ['finance', 'support'] },
      schema: {
        ...describeQuery({
          operationId: 'listChanges',
          summary: 'List changes of tenants, users, tokens, credit and settings, newest first',
          ok: ChangesAnswerSchema,
          failures: [...listFailures, 'log_unavailable'],
          csv: true,
        }),
        querystring: ChangesQuerySchema,
      },
    },
    async (request, reply) => {
      const list = await readChanges(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}
