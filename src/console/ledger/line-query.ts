import { Type } from 'typebox'
import { reportMembers, TagQuery } from '../../api/query/report-query.ts'
import { NameOf } from '../../api/query/schemas.ts'
import { fieldOf, timeFields } from '../kit/fields.ts'
import type { FilterField } from '../kit/filter.tsx'

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
  fieldOf.currency,
  fieldOf.zone,
]
