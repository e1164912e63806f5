import type { FastifyInstance } from 'fastify'
import {
  findToken,
  hasTenant,
  hasUser,
  listTenants,
  listUsers,
} from '../../../projections/access/query.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { hasLines } from '../../../projections/ledger/query.ts'
import { currentPriceBook } from '../../../projections/prices/query.ts'
import type { Principal } from '../../app/access/principal.ts'
import { createKnownModels } from '../../app/accounts/known-models.ts'
import { requireCaughtUp } from '../../app/read-models/catch-up.ts'
import type { Catalog, ServedModel } from '../../domain/catalog/catalog.ts'
import type { Clock } from '../../kernel/clock.ts'
import { didYouMean } from '../../kernel/nearest-name.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { RequestError } from '../kit/request-error.ts'
import { narrow, sees, type Visible, visibleTo } from './scope.ts'

/** Filters by name. With an unknown name the answer would be empty, which looks like no usage. */

/** Filters by their parameter; filters by unique ids are not checked. */
const filters = ['tenant_id', 'user_id', 'token_id', 'model', 'sku'] as const
type Filter = (typeof filters)[number]

/** Checks the value of one filter within the token's scope. */
interface NameLookup {
  readonly isKnown: (name: string, within: Visible) => Promise<boolean>
  /** Candidates for a suggestion; none if the values are ids. */
  readonly others: (within: Visible) => Promise<Iterable<string>>
  readonly noun: string
}

export type NameLookups = Readonly<Record<Filter, NameLookup>>

/** The most names that are compared with an unknown one. */
const MAX_COMPARED = 1_000

/** Looks names up in the catalog, among the models that channels serve, and in the read models. */
export function createKnownNames(deps: {
  readonly db: Queryable
  readonly logEnd: () => Promise<bigint | undefined>
  readonly catalog: Catalog
  readonly clock: Clock
  readonly served: readonly ServedModel[]
}): NameLookups {
  const { db, logEnd, catalog, clock, served } = deps
  const models = createKnownModels(deps)
  const sold = catalog.soldSkus(served)
  // A name that was created a moment ago, on any replica, is found.
  const inAccess = async (look: () => Promise<boolean>): Promise<boolean> => {
    if (await look()) return true
    await requireCaughtUp({ db, log: { endPosition: logEnd } }, 'access')
    return look()
  }
  const priced = async (): Promise<readonly string[]> =>
    (await currentPriceBook(db, clock.nowMs()))?.entries.map(({ sku }) => sku) ?? []
  return {
    tenant_id: {
      noun: 'tenant',
      isKnown: (id) => inAccess(() => hasTenant(db, id)),
      others: async () =>
        (await listTenants(db, { limit: MAX_COMPARED })).map(({ tenantId }) => tenantId),
    },
    user_id: {
      noun: 'user',
      isKnown: (userId, { tenantId }) => inAccess(() => hasUser(db, { userId, tenantId })),
      others: async ({ tenantId }) =>
        tenantId === undefined
          ? []
          : (await listUsers(db, { tenantId, limit: MAX_COMPARED })).map(({ userId }) => userId),
    },
    token_id: {
      noun: 'token',
      isKnown: (id, within) =>
        inAccess(async () => {
          const token = await findToken(db, id)
          return token !== undefined && sees(within, token)
        }),
      others: () => Promise.resolve([]),
    },
    model: {
      noun: 'model',
      isKnown: async (name, { tenantId }) =>
        (await models.unknown([name])).length === 0 || hasLines(db, 'model', name, tenantId),
      others: () => models.known(),
    },
    sku: {
      noun: 'SKU',
      isKnown: async (name, { tenantId }) =>
        sold.has(name) || (await priced()).includes(name) || hasLines(db, 'sku', name, tenantId),
      others: async () => new Set([...sold, ...(await priced())]),
    },
  }
}

/** A query with names in it. */
export type NamedQuery = Partial<Record<Filter | 'surface', unknown>>

/**
 * The guard of routes, pages and commands: refuses a name that does not exist, and replaces a version alias in the
 * query by its model. @throws RequestError for an unknown name
 */
export async function readNames(
  {
    catalog,
    lookups,
    surfaces = [],
  }: {
    readonly catalog: Catalog
    readonly lookups: NameLookups
    /** The surfaces, where the schema of the query does not have them. */
    readonly surfaces?: readonly string[]
  },
  principal: Principal,
  query: NamedQuery,
): Promise<void> {
  const text = (name: Filter | 'surface'): string | undefined =>
    typeof query[name] === 'string' ? query[name] : undefined
  const model = text('model')
  if (model !== undefined) query.model = catalog.externalModelName(model)
  const surface = text('surface')
  if (surface !== undefined && surfaces.length > 0 && !surfaces.includes(surface))
    throw unknownName('surface', 'surface', surface, surfaces)
  // The answer reveals no names outside the scope.
  const within = narrow(visibleTo(principal), {
    tenantId: text('tenant_id'),
    userId: text('user_id'),
  })
  for (const filter of filters) {
    const name = text(filter)
    if (name === undefined) continue
    const { isKnown, others, noun } = lookups[filter]
    if (await isKnown(name, within)) continue
    throw unknownName(filter, noun, name, await others(within))
  }
}

function unknownName(
  param: string,
  noun: string,
  name: string,
  others: Iterable<string>,
): RequestError {
  const hint = didYouMean(name, others)
  return new RequestError('parameter_invalid', `there is no ${noun} \`${name}\`${hint}`, param)
}

/** Replaces version aliases by their models, and refuses unknown names, on every route. */
export function useKnownNames(
  instance: FastifyInstance,
  catalog: Catalog,
  lookups: NameLookups,
): void {
  instance.addHook('preHandler', async (request) => {
    const query = request.query as NamedQuery
    if (filters.some((name) => typeof query[name] === 'string'))
      await readNames({ catalog, lookups }, principalOf(request), query)
  })
}
