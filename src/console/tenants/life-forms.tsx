import type { JSX } from 'preact'
import { Type } from 'typebox'
import { adminScopeOf } from '../../api/admin/envelope.ts'
import { RequestError } from '../../api/kit/request-error.ts'
import { actorOf, DisplayName, NewId, Reason } from '../../api/kit/routes/account-surface.ts'
import type { Services } from '../../api/kit/services.ts'
import { managedStatus } from '../../app/accounts/managed-status.ts'
import { managedName } from '../../app/accounts/settings.ts'
import type { PageForm } from '../form-routes.ts'
import { ActionForm } from '../kit/form.tsx'
import { tenantHref, tenantsHref } from '../kit/href.ts'
import type { View } from '../page.tsx'
import type { FormProps } from './forms.tsx'

/** Forms that open, rename and close a tenant and add users to it: they do the same as the routes. */

type Accounts = Services['accounts']

// A field named `name` would hide a member of its form.
const openFields = Type.Object({
  tenant_id: NewId('Id of the tenant.'),
  tenant_name: DisplayName,
})

/** The form that opens a tenant; sent again, it changes nothing. */
export const openForm = (tenants: Accounts['tenants']): PageForm<typeof openFields> => ({
  name: 'open',
  roles: [],
  fields: openFields,
  act: async (request, { fields: { tenant_id: tenantId, tenant_name: name } }) => {
    await tenants.open(adminScopeOf(request), actorOf(request), { tenantId, name })
    return tenantHref(tenantId)
  },
})

/** The form that opens a tenant, for operators. */
export function OpenTenant({ view }: { readonly view: View }): JSX.Element {
  return (
    <ActionForm
      name="open"
      title="Open a tenant"
      page={tenantsHref()}
      requestKey={view.requestKey}
      button="Open"
      fault={view.fault}
      fields={[
        { name: 'tenant_name', label: 'Name' },
        { name: 'tenant_id', label: 'Id, such as acme: it never changes' },
      ]}
    >
      The tenant begins without users, tokens and credit; its page has the forms for them.
    </ActionForm>
  )
}

const nameFields = Type.Object({ tenant_name: DisplayName })

/** The form that renames the tenant. */
export const nameForm = (settings: Accounts['settings']): PageForm<typeof nameFields> => ({
  name: 'name',
  roles: [],
  fields: nameFields,
  act: async (request, { id: tenantId, fields: { tenant_name: name } }) => {
    const wanted = () => ({ name })
    const input = { tenantId, basis: undefined, wanted }
    await settings.set(managedName, adminScopeOf(request), actorOf(request), input)
    return tenantHref(tenantId)
  },
})

/** The form of the name. */
export function Rename({ facts: { tenant }, view }: FormProps): JSX.Element {
  return (
    <ActionForm
      name="name"
      title="Rename tenant"
      page={tenantHref(tenant.id)}
      requestKey={view.requestKey}
      button="Rename"
      fault={view.fault}
      fields={[{ name: 'tenant_name', label: 'Name', value: tenant.name }]}
    >
      The id stays. Statements have the name of the billing profile.
    </ActionForm>
  )
}

const userFields = Type.Object({ new_user: NewId('Id of the user.'), user_name: DisplayName })

/** The form that adds a user; sent again, it changes nothing. */
export const userForm = (tenants: Accounts['tenants']): PageForm<typeof userFields> => ({
  name: 'user',
  roles: [],
  fields: userFields,
  act: async (request, { id: tenantId, fields: { new_user: userId, user_name: name } }) => {
    const input = { tenantId, userId, name }
    await tenants.addUser(adminScopeOf(request), actorOf(request), input)
    return tenantHref(tenantId, { user: userId })
  },
})

/** The form of a new user. */
export function AddUser({ facts: { tenant }, view }: FormProps): JSX.Element {
  return (
    <ActionForm
      name="user"
      title="Add a user"
      page={tenantHref(tenant.id)}
      requestKey={view.requestKey}
      button="Add user"
      fault={view.fault}
      fields={[
        { name: 'user_name', label: 'Name' },
        { name: 'new_user', label: 'Id, such as ann: it never changes' },
      ]}
    >
      Usage is summed by user, and each token is of one.
    </ActionForm>
  )
}

const closeFields = Type.Object({
  tenant_id: Type.String({ maxLength: 128 }),
  reason: Reason,
  expected_revision: Type.Integer({ minimum: 0 }),
})

/** The form that closes the tenant for good: its id is written by hand. */
export const closeTenantForm = (settings: Accounts['settings']): PageForm<typeof closeFields> => ({
  name: 'close',
  roles: [],
  fields: closeFields,
  act: async (request, { id: tenantId, fields }) => {
    if (fields.tenant_id !== tenantId)
      throw new RequestError('parameter_invalid', `tenant_id is not ${tenantId}`, 'tenant_id')
    const { reason, expected_revision: basis } = fields
    const wanted = () => ({ tenant: { status: 'closed' as const, reason } })
    const input = { tenantId, basis, wanted }
    await settings.set(managedStatus, adminScopeOf(request), actorOf(request), input)
    return tenantHref(tenantId)
  },
})

/** The form that closes a suspended tenant, for operators. */
export function Close({ facts: { tenant, status }, view }: FormProps): JSX.Element {
  return (
    <ActionForm
      name="close"
      title="Close tenant for good"
      page={tenantHref(tenant.id)}
      requestKey={view.requestKey}
      button="Close for good"
      fault={view.fault}
      hidden={{ expected_revision: String(status.revision) }}
      fields={[
        { name: 'tenant_id', label: `The id of the tenant, to confirm: ${tenant.id}` },
        { name: 'reason', label: 'Reason (shown to callers)' },
      ]}
    >
      It cannot be opened again. Its tokens stop working; its ledger, statements and history stay.
      While calls or tasks run it is refused.
    </ActionForm>
  )
}
