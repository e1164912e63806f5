import type { FastifyRequest } from 'fastify'
import type { JSX } from 'preact'
import { Type } from 'typebox'
import { adminScopeOf } from '../../api/admin/envelope.ts'
import { actorOf, DisplayName, KnownId } from '../../api/kit/routes/account-surface.ts'
import { readNewToken } from '../../api/kit/tokens/routes.ts'
import { NewTokenSchema } from '../../api/kit/tokens/schemas.ts'
import type { Services } from '../../api/kit/services.ts'
import type { NewToken } from '../../app/accounts/managed-tokens.ts'
import { isOperator, tokenRoles } from '../../domain/token/events.ts'
import { isDomainError } from '../../kernel/errors.ts'
import { tokenIdFor } from '../../kernel/ids.ts'
import { membersGiven } from '../../kernel/json.ts'
import type { PageForm } from '../form-routes.ts'
import { ActionForm } from '../kit/form.tsx'
import { tenantHref, tokenHref } from '../kit/href.ts'
import type { FormProps } from './forms.tsx'
import { SecretPanel } from './secret.tsx'

/** The form that issues a token with a secret, for programs and for people who sign in with it. */

const issueFields = Type.Object({
  token_kind: NewTokenSchema.properties.kind,
  token_name: DisplayName,
  user: KnownId,
  level: Type.Optional(Type.Enum(['current_user', 'all_users', 'all_tenants'])),
  given_role: Type.Optional(Type.Enum([...tokenRoles])),
})

/** Issues a token of a form, once: the key of its page names the token. No secret: it was issued before. */
export async function issueOnce(
  tokens: Services['accounts']['tokens'],
  request: FastifyRequest,
  key: string,
  token: Omit<NewToken, 'tokenId'>,
): Promise<{ readonly tokenId: string; readonly secret: string | undefined }> {
  const by = actorOf(request)
  const tokenId = tokenIdFor(`${token.tenantId} ${by.tokenId} ${key}`)
  try {
    const { secret } = await tokens.issue(adminScopeOf(request), by, { ...token, tokenId })
    return { tokenId, secret }
  } catch (error) {
    if (!isDomainError(error, 'token_exists')) throw error
    return { tokenId, secret: undefined }
  }
}

/** A caller who sends the form again has lost the secret, and rotates it on the page of the token. */
export const issueForm = (
  tokens: Services['accounts']['tokens'],
): PageForm<typeof issueFields> => ({
  name: 'issue',
  roles: [],
  fields: issueFields,
  act: async (request, { id: tenantId, key, fields }) => {
    const { token_kind: kind, token_name: name, user: userId, level, given_role: role } = fields
    const asked = readNewToken({ kind, name, ...membersGiven({ role, scope: level && { level } }) })
    const token = { tenantId, userId, ...asked }
    const { tokenId, secret } = await issueOnce(tokens, request, key, token)
    if (secret === undefined) return tokenHref(tokenId)
    const title = `Secret of ${name}`
    return { title, children: <SecretPanel title={title} secret={secret} tokenId={tokenId} /> }
  },
})

/** The form, for sessions that may issue tokens of the tenant. */
export function IssueForm({ facts, view }: FormProps): JSX.Element {
  const spans = [
    ['', 'what its kind sees'],
    ['current_user', 'the user'],
    ['all_users', 'this tenant'],
    ...(isOperator(view.token) ? [['all_tenants', 'all tenants'] as const] : []),
  ] as const
  return (
    <ActionForm
      name="issue"
      title="Issue a token"
      page={tenantHref(facts.tenant.id)}
      requestKey={view.requestKey}
      button="Issue token"
      fault={view.fault}
      fields={[
        {
          name: 'token_kind',
          label: 'Kind',
          value: 'model',
          options: [
            ['model', 'model: makes calls'],
            ['query', 'query: reads the ledger and lives'],
            ['profile', 'profile: manages the own tokens of its user'],
            ['admin', 'admin: manages the tenant'],
          ],
        },
        { name: 'token_name', label: 'Name' },
        { name: 'user', label: 'User of the tenant, by its id' },
        { name: 'level', label: 'Sees (query, admin)', isOptional: true, options: spans },
        {
          name: 'given_role',
          label: 'Role (query, admin)',
          isOptional: true,
          options: [['', 'none'] as const, ...tokenRoles.map((role) => [role, role] as const)],
        },
      ]}
    >
      Its secret is shown once, on the next page. Models, addresses, limits and an expiry are set by{' '}
      <code>PATCH /api/admin/tokens/{'{id}'}</code>.
    </ActionForm>
  )
}
