import { type NamedQuery, readNames } from '../api/query/known-names.ts'
import type { QueryServices } from '../api/query/services.ts'
import type { Principal } from '../app/access/principal.ts'
import { failureOf } from './failure.ts'

/** Queries of pages: the names in them, and the zone that they are read in. */

/** The members of a query that are text. */
export const textsIn = (query: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(Object(query)).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value]] : [],
    ),
  )

/**
 * A query whose names are known, by the guard of the API's routes; its model has the name that it is sold under.
 * `names` are further ones, which are checked with those of the query. @throws RequestError for an unknown name
 */
export async function knownQuery<Query extends object>(
  { models, queries, http }: Pick<QueryServices, 'models' | 'queries' | 'http'>,
  who: Principal,
  query: Query,
  names: NamedQuery = {},
): Promise<Query> {
  const named: NamedQuery = { ...textsIn(query), ...names }
  const guard = { catalog: models.catalog, lookups: queries.knownNames }
  await readNames({ ...guard, surfaces: Object.keys(http.endpoints) }, who, named)
  return named.model === undefined ? query : { ...query, model: named.model }
}

/** The zone of a tenant as an address has it; undefined: UTC, or no tenant. */
export async function zoneOf(
  { queries }: Pick<QueryServices, 'queries'>,
  tenantId: string | undefined,
): Promise<string | undefined> {
  if (tenantId === undefined) return undefined
  const zone = await queries.accounts.zoneOf(tenantId).catch((error: unknown) => {
    // While the log is away, the panels that need it say so.
    if (failureOf(error, '').status === 503) return 'UTC'
    throw error
  })
  return zone === 'UTC' ? undefined : zone
}

/** The tenant that all facts are of; undefined where they are of several, or of none. */
export function onlyTenant(tenantIds: readonly (string | undefined)[]): string | undefined {
  const found = new Set(tenantIds)
  return found.size === 1 ? [...found][0] : undefined
}
