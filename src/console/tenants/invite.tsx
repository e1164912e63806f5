import type { JSX } from 'preact'
import { Type } from 'typebox'
import { KnownId } from '../../api/kit/routes/account-surface.ts'
import type { Services } from '../../api/kit/services.ts'
import { NewTokenSchema } from '../../api/kit/tokens/schemas.ts'
import { isOperator, tokenRoles } from '../../domain/token/events.ts'
import { membersGiven } from '../../kernel/json.ts'
import type { PageForm } from '../form-routes.ts'
import { ActionForm } from '../kit/form.tsx'
import { tenantHref, tokenHref } from '../kit/href.ts'
import type { FormProps } from './forms.tsx'
import { issueOnce } from './issue.tsx'

/** The form that invites a person: it issues an admin token that the person uses by signing in by name. */

const inviteFields = Type.Object({
  subject: Type.Unsafe<string>(NewTokenSchema.properties.subject),
  user: KnownId,
  /** The role; a field named `role` would hide a member of the form. */
  given_role: Type.Optional(Type.Enum([...tokenRoles])),
  level: Type.Optional(Type.Enum(['all_users', 'all_tenants'])),
})

export const inviteForm = (
  tokens: Services['accounts']['tokens'],
): PageForm<typeof inviteFields> => ({
  name: 'invite',
  roles: [],
  fields: inviteFields,
  act: async (request, { id: tenantId, key, fields }) => {
    const { subject, user: userId, given_role: role, level = 'all_users' } = fields
    const person = { tenantId, userId, name: subject, subject, ...membersGiven({ role }) }
    const token = { ...person, kind: 'admin' as const, scope: { level } }
    const { tokenId } = await issueOnce(tokens, request, key, token)
    return tokenHref(tokenId)
  },
})

/** The form, for sessions that may issue tokens of the tenant. */
export function InviteForm({ facts, view }: FormProps): JSX.Element {
  const spans = [
    ['all_users', 'this tenant'],
    ['all_tenants', 'all tenants, as an operator'],
  ] as const
  return (
    <ActionForm
      name="invite"
      title="Invite a person"
      page={tenantHref(facts.tenant.id)}
      requestKey={view.requestKey}
      button="Invite"
      fault={view.fault}
      fields={[
        { name: 'subject', label: 'Name at the provider, such as an address of e-mail' },
        { name: 'user', label: 'User of the tenant, for this person alone' },
        {
          name: 'given_role',
          label: 'Role',
          isOptional: true,
          value: 'support',
          options: [
            ...tokenRoles.map((role) => [role, role] as const),
            ['', 'none: all that follows'],
          ],
        },
        ...(isOperator(view.token)
          ? [{ name: 'level', label: 'Sees', value: 'all_users', options: spans }]
          : []),
      ]}
    >
      The person signs in to the console by name, without a secret, from now on. Without a role, the
      person may also change what an administrator may, and invite others. Disabling the token takes
      the access away.
    </ActionForm>
  )
}
