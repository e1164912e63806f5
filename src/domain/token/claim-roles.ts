import type { TokenRole } from './events.ts'

/** Roles that an identity provider gives to people, by the values of a claim. */

/** The rights of the people who have a value of the claim. */
export interface ClaimRole {
  /** The value as the provider writes it. */
  readonly value: string
  /** Undefined: an operator, who has every right. */
  readonly role: TokenRole | undefined
  readonly scope: { readonly level: 'all_users' | 'all_tenants' }
  /** The tenant in which the people have users. */
  readonly tenantId: string
}

const shape = /^([^=]+)=(finance|support|operator):(all_users|all_tenants):([\w-]{1,128})$/

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Reads `VALUE=ROLE:SCOPE:TENANT`, with % codes in the value; a text says what is wrong with it. */
export function readClaimRole(text: string): ClaimRole | string {
  const [, given = '', role, level, tenantId = ''] = shape.exec(text) ?? []
  const value = decoded(given)
  if (value === undefined || value === '' || level === undefined)
    return 'is no VALUE=ROLE:SCOPE:TENANT, such as desk=support:all_users:northwind: the role is finance, support or operator, the scope all_users or all_tenants'
  if (role === 'finance' || role === 'support')
    return {
      value,
      role,
      scope: { level: level === 'all_users' ? level : 'all_tenants' },
      tenantId,
    }
  if (level !== 'all_tenants') return 'is wrong: an operator has the scope all_tenants'
  return { value, role: undefined, scope: { level }, tenantId }
}
