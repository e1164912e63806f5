import type { JSX } from 'preact'
import { Type } from 'typebox'
import { adminScopeOf } from '../../api/admin/envelope.ts'
import { actorOf, KnownId, Reason } from '../../api/kit/routes/account-surface.ts'
import type { Services } from '../../api/kit/services.ts'
import { readTokens, toToken } from '../../api/kit/tokens/routes.ts'
import { DEFAULT_OVERLAP_S, DisablingSchema, RotationSchema } from '../../api/kit/tokens/schemas.ts'
import { readChanges } from '../../api/query/changes.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import { formatDuration } from '../../kernel/duration.ts'
import type { PageForm } from '../form-routes.ts'
import { ActionForm, UnplacedFault } from '../kit/form.tsx'
import { type Changes, LastChanges } from '../kit/changes.tsx'
import { activityHref, changesHref, paths, tenantHref, tokenHref } from '../kit/href.ts'
import { Panel, type PanelFacts, panelFacts } from '../kit/panel.tsx'
import { Facts, type ZoneClock } from '../kit/values.tsx'
import type { Page, View } from '../page.tsx'
import { adminScopeOfSession } from '../session/reading-as.ts'
import { SecretPanel } from './secret.tsx'
import { limitsInWords, type ShownToken, TimeOr } from './token-words.tsx'

/** One token, without its secret, with the forms that disable and rotate it. */

type Tokens = Services['accounts']['tokens']

/** The last changes of a token on its page. */
const LAST_CHANGES = 20
/** Tokens that it issued are counted up to here. */
const MOST_ISSUED = 10

interface TokenFacts {
  readonly token: ShownToken
  /** How many tokens it issued, such as `2` or `more than 10`. */
  readonly issued: string
  readonly changes: PanelFacts<Changes>
}

function factsOf({ token, issued }: TokenFacts, clock: ZoneClock) {
  const time = (at: string | null, none: string) => <TimeOr at={at} none={none} clock={clock} />
  return [
    [
      'secret',
      token.subject === null ? <code>{`${token.prefix}…${token.last_four}`}</code> : 'none',
    ],
    ['signs in by name', token.subject ?? 'no'],
    ...(token.claim === null ? [] : [['role by claim', token.claim] as const]),
    ['kind', token.role === null ? token.kind : `${token.kind}, ${token.role}`],
    ['tenant', <a href={tenantHref(token.tenant_id)}>{token.tenant_id}</a>],
    ['user', token.user_id],
    ['sees', token.scope?.level.replaceAll('_', ' ') ?? 'its own'],
    ['models', token.models?.join(', ') ?? 'all'],
    ['addresses', token.addresses?.join(', ') ?? 'any'],
    ['limits', token.kind === 'model' ? limitsInWords(token.limits, 'default') : 'none'],
    ['last used', time(token.last_used_at, 'never')],
    [
      'calls and tasks',
      <a href={activityHref(token.tenant_id, { token_id: token.id })}>activity</a>,
    ],
    ['issued', time(token.created_at, '')],
    ['rotated', time(token.rotated_at, 'never')],
    ['expires', time(token.expires_at, 'never')],
    ['disabled', time(token.disabled_at, 'no')],
    ['tokens it issued', issued],
  ] as const
}

function RotateForm({
  token,
  page,
  view,
}: {
  readonly token: ShownToken
  readonly page: string
  readonly view: View
}): JSX.Element {
  return (
    <ActionForm
      name="rotate"
      title="Rotate secret"
      page={page}
      requestKey={view.requestKey}
      button="Rotate"
      fault={view.fault}
      hidden={{ expected_last_four: token.last_four }}
      fields={[
        {
          name: 'overlap_seconds',
          label: 'Seconds until the old secret stops working',
          value: String(DEFAULT_OVERLAP_S),
        },
        { name: 'reason', label: 'Reason (kept in the log)', isOptional: true },
      ]}
    >
      The token gets a new secret, which the next page shows once. The secret that ends in{' '}
      <code>{token.last_four}</code> stops working after the time below.
    </ActionForm>
  )
}

function Forms({ facts, view }: { readonly facts: TokenFacts; readonly view: View }): JSX.Element {
  const { token, issued } = facts
  const { requestKey, fault, clock } = view
  if (view.token.role !== undefined)
    return <p class="panel note">Changes need an admin token without a role.</p>
  if (token.disabled_at !== null)
    return (
      <>
        <UnplacedFault fault={fault} />
        <p class="panel note">This token is disabled for good. Issue another one instead.</p>
      </>
    )
  const page = tokenHref(token.id)
  return (
    <>
      {token.subject === null ? (
        <RotateForm token={token} page={page} view={view} />
      ) : (
        <UnplacedFault fault={fault} />
      )}
      <ActionForm
        name="disable"
        title="Disable token"
        page={page}
        requestKey={requestKey}
        button="Disable"
        fault={fault}
        fields={[
          {
            name: 'issued',
            label: `Also disable the tokens it issued (${issued})`,
            options: [
              ['false', 'no'],
              ['true', 'yes'],
            ],
          },
          { name: 'reason', label: 'Reason (kept in the log)' },
        ]}
      >
        The token stops working at once, on every replica, and its sessions end. Running tasks
        continue. Last used: <TimeOr at={token.last_used_at} none="never" clock={clock} />. This
        cannot be undone.
      </ActionForm>
    </>
  )
}

const query = Type.Object({ tz: timeRangeMembers.tz })

/** A token that the session manages. */
export const tokenPage: Page<typeof query, TokenFacts> = {
  path: paths.token,
  roles: ['support'],
  query,
  read: async (services, who, { id, token }) => {
    const { tokens } = services.accounts
    const scope = adminScopeOfSession(token, 'Tokens')
    const found = toToken(await tokens.find(scope, id))
    const { items, next_cursor: more } = await readTokens(tokens, scope, {
      issued_by: id,
      limit: MOST_ISSUED,
    })
    const issued = more === null ? String(items.length) : `more than ${MOST_ISSUED}`
    const asked = { tenant_id: found.tenant_id, token_id: id, limit: LAST_CHANGES }
    const changes = await panelFacts(token, ['support'], async () =>
      (await readChanges(services, who, asked)).page(),
    )
    return { token: found, issued, changes }
  },
  tenantsOf: ({ token }) => [token.tenant_id],
  title: ({ token }) => `Token ${token.name}`,
  show: (facts, view) => (
    <>
      <h1 class="title">Token {facts.token.name}</h1>
      <Panel id="token" title={facts.token.disabled_at === null ? 'Active' : 'Disabled'}>
        <Facts facts={factsOf(facts, view.clock)} />
      </Panel>
      <LastChanges
        of={facts.changes}
        all={changesHref({
          tenant_id: facts.token.tenant_id,
          token_id: facts.token.id,
          from: facts.token.created_at,
        })}
        view={view}
      />
      <Forms facts={facts} view={view} />
      <p class="note links">
        Its name, models, addresses, limits and expiry are changed with{' '}
        <code>tollgate token --help</code>, or <code>PATCH /api/admin/tokens/{facts.token.id}</code>
        .
      </p>
    </>
  ),
}

const disableFields = Type.Object({ issued: DisablingSchema.properties.issued, reason: Reason })

/** The form that disables a token. */
export const disableForm = (tokens: Tokens): PageForm<typeof disableFields> => ({
  name: 'disable',
  roles: [],
  fields: disableFields,
  act: async (request, { id, fields: { issued, reason } }) => {
    const input = { tokenId: id, withIssued: issued === 'true', reason }
    await tokens.disable(adminScopeOf(request), actorOf(request), input)
    return tokenHref(id)
  },
})

const rotateFields = Type.Object({
  overlap_seconds: RotationSchema.properties.overlap_seconds,
  expected_last_four: KnownId,
  reason: RotationSchema.properties.reason,
})

/** The form that gives a token a new secret: its answer alone has it. */
export const rotateForm = (tokens: Tokens): PageForm<typeof rotateFields> => ({
  name: 'rotate',
  roles: [],
  fields: rotateFields,
  act: async (request, { id, fields }) => {
    const { overlap_seconds: overlapS = DEFAULT_OVERLAP_S, reason } = fields
    const { expected_last_four: lastFour } = fields
    const overlapMs = overlapS * 1_000
    const input = { tokenId: id, overlapMs, expectedLastFour: lastFour, reason }
    const { token, secret } = await tokens.rotate(adminScopeOf(request), actorOf(request), input)
    return {
      title: 'New secret',
      children: (
        <SecretPanel title={`New secret of ${token.name}`} secret={secret} tokenId={id}>
          <>
            The secret that ends in <code>{lastFour}</code>{' '}
            {overlapS === 0
              ? 'has stopped working.'
              : `works for ${formatDuration(overlapMs)} more.`}
          </>
        </SecretPanel>
      ),
    }
  },
})
