import { type Static, Type } from 'typebox'
import { reportMembers, TagQuery } from '../../api/query/report-query.ts'
import { NameOf } from '../../api/query/schemas.ts'
import type { QueryServices } from '../../api/query/services.ts'
import { readUsage } from '../../api/query/usage.ts'
import type { Principal } from '../../app/access/principal.ts'
import { fieldOf, type FilterField, timeFields } from '../kit/fields.ts'
import { namesOfOneTenant } from '../session/reading-as.ts'

/** The members of an address that name lines of the ledger, and the fields that fill them in. */

const { surface: _surface, tag: _tag, format: _format, bom: _bom, ...members } = reportMembers([])
export const lineMembers = {
  ...members,
  surface: NameOf('Only of this surface.'),
  tag: Type.Optional(TagQuery),
}

export const lineFields: readonly FilterField[] = [
  ...timeFields('ledger'),
  fieldOf.tenant,
  fieldOf.user,
  fieldOf.model,
  { name: 'tag', label: 'Tag', placeholder: 'session:…' },
  { name: 'end_user', label: 'End user' },
  fieldOf.currency,
]

const lineQuery = Type.Object(lineMembers)
type LineQuery = Static<typeof lineQuery>

/** The tenants that lines and refunds of a filter are of, where it names something of one tenant. */
export async function tenantsOfLines(
  services: QueryServices,
  who: Principal,
  asked: LineQuery,
): Promise<readonly { readonly tenant_id: string }[]> {
  if (!namesOfOneTenant(asked)) return []
  const { page } = await readUsage(services, who, { ...asked, group_by: 'tenant' })
  return (await page()).items.map((item) => ({ tenant_id: String(item['tenant_id']) }))
}
