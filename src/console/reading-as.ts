import type { Principal } from '../app/access/principal.ts'

/** An administrator reads what it administers, as a query token of its scope would. */
export function readingAs(principal: Principal): Principal {
  if (principal.kind === 'query') return principal
  return { ...principal, kind: 'query', scope: principal.scope ?? { level: 'all_tenants' } }
}
