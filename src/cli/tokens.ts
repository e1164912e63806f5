import type { Command } from 'commander'
import { findToken, listTokens } from '../../projections/access/query.ts'
import {
  changeToken,
  changeTokenLimits,
  disableToken,
  issueToken,
  rotateToken,
} from '../app/accounts/account-commands.ts'
import { requireUsers } from '../app/accounts/users.ts'
import { disableIssued } from '../app/accounts/issued-tokens.ts'
import { shownTokens } from '../app/accounts/known-token.ts'
import { toTimestamp } from '../kernel/clock.ts'
import { membersGiven } from '../kernel/json.ts'
import { CommandError, note, print, show, table, toJson, UsageError } from './output.ts'
import type { Session } from './session.ts'
import {
  expiryOf,
  kindOf,
  limitChangesOf,
  limitsOf,
  limitsText,
  type LimitOptions,
  modelsOf,
  noteOthersOf,
  roleOf,
  scopeOf,
  splitList,
  subjectOf,
  tokenChangesOf,
  type UpdateOptions,
} from './token-options.ts'
import {
  type ActorOption,
  changing,
  changingWithReason,
  depsOf,
  JSON_OPTION,
  LIST_LIMIT,
  onStores,
  reasonOf,
} from './command.ts'

const LIMITS_HELP = `
A limit that was never set follows RATE_LIMIT_RPM, RATE_LIMIT_TPM, RATE_LIMIT_CONCURRENT_CALLS and
RATE_LIMIT_CONCURRENT_TASKS. A token's user and tenant may have limits too: tollgate limit.
A request beyond a limit gets 429 with Retry-After; it starts nothing and is not counted.`

/** Registers `tollgate token …`. */
export function addTokens(program: Command): void {
  const group = program.command('token').description('tokens; secrets are shown once')
  addIssue(group)
  addRotate(group)
  addLimit(group)
  addUpdate(group)
  addDisable(group)
  addList(group)
}

function addIssue(group: Command): void {
  changing(group.command('issue'))
    .description('issue a token')
    .requiredOption('--tenant <id>', 'tenant')
    .requiredOption('--user <id>', 'user')
    .requiredOption('--kind <kind>', 'model, profile, query or admin')
    .option('--name <name>', 'name of the token')
    .option(
      '--scope <level>',
      'for a query token: current_user, specified_users, all_users or all_tenants; for an admin token: all_users (its tenant) or all_tenants',
    )
    .option(
      '--role <role>',
      'for a query or an admin token: finance or support, which narrows it to what they need',
    )
    .option(
      '--subject <name>',
      'for a query or an admin token: the person who signs in to the console by name, as OIDC_CLAIM names them; no secret is shown',
    )
    .option('--users <ids>', 'user ids, comma-separated, with specified_users')
    .option('--models <names>', 'only these models, comma-separated')
    .option('--addresses <ranges>', 'only from these addresses or ranges (CIDR), comma-separated')
    .option('--expires <time>', 'RFC 3339 time')
    .option('--rpm <n>', 'calls and task creations per minute; none: no limit')
    .option('--tpm <n>', 'text tokens per minute, input and output; none: no limit')
    .option('--concurrent-calls <n>', 'running synchronous calls; none: no limit')
    .option('--concurrent-tasks <n>', 'tasks that have not ended; none: no limit')
    .addHelpText('after', LIMITS_HELP)
    .action(onStores(issueTokenCommand))
}

function addRotate(group: Command): void {
  changingWithReason(group.command('rotate'))
    .description('give a token a new secret; the old one stays valid for a while')
    .argument('<token id>')
    .option('--overlap <seconds>', 'how long the old secret stays valid', '3600')
    .action(onStores(rotateTokenCommand))
}

function addLimit(group: Command): void {
  changingWithReason(group.command('limit'))
    .description('change the limits of a token, effective immediately; others are unchanged')
    .argument('<token id>')
    .option('--rpm <n>', 'calls and task creations per minute')
    .option('--tpm <n>', 'text tokens per minute, input and output')
    .option('--concurrent-calls <n>', 'running synchronous calls')
    .option('--concurrent-tasks <n>', 'tasks that have not ended')
    .addHelpText(
      'after',
      `\n<n> is a number, "none" for no limit, or "default" for the limit that the operator set for all tokens.${LIMITS_HELP}`,
    )
    .action(onStores(limitTokenCommand))
}

function addUpdate(group: Command): void {
  changingWithReason(group.command('update'))
    .description(
      'change name, models, addresses or expiry of a token, effective immediately; others are unchanged',
    )
    .argument('<token id>')
    .option('--name <name>', 'name of the token')
    .option('--models <names>', 'only these models, comma-separated, or all')
    .option(
      '--addresses <ranges>',
      'only from these addresses or ranges (CIDR), comma-separated, or any',
    )
    .option('--expires <time>', 'RFC 3339 time, or never')
    .action(onStores(updateTokenCommand))
}

function addDisable(group: Command): void {
  changing(group.command('disable'))
    .description('disable a token immediately')
    .argument('<token id>')
    .option('--reason <text>', 'why', 'disabled by an operator')
    .option('--issued', 'also disable the tokens that it issued, directly or through others')
    .action(onStores(disableTokenCommand))
}

function addList(group: Command): void {
  group
    .command('list')
    .description('tokens of a tenant, without secrets')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action(onStores(listTokensCommand))
}

async function issueTokenCommand(
  session: Session,
  options: LimitOptions &
    ActorOption & {
      tenant: string
      user: string
      kind: string
      name?: string
      scope?: string
      role?: string
      subject?: string
      users?: string
      models?: string
      addresses?: string
      expires?: string
      json?: boolean
    },
): Promise<void> {
  const kind = kindOf(options.kind)
  const subject = subjectOf(kind, options.subject)
  const scope = scopeOf(kind, options.scope, options.users)
  const role = roleOf(kind, options.role)
  const limits = limitsOf(options)
  const named = scope?.level === 'specified_users' ? scope.userIds : []
  const deps = depsOf(session, options)
  await requireUsers(deps, options.tenant, [options.user, ...named])
  const issued = await issueToken(deps, {
    tenantId: options.tenant,
    userId: options.user,
    kind,
    name: options.name ?? subject ?? `${kind} token`,
    ...membersGiven({ scope, role, subject }),
    ...(options.models ? { models: await modelsOf(session, options.models) } : {}),
    ...(options.addresses ? { addresses: splitList(options.addresses) } : {}),
    ...(limits ? { limits } : {}),
    ...(options.expires ? { expiresAt: expiryOf(options.expires) } : {}),
  })
  const { tokenId, secret, position } = issued
  if (subject === undefined) {
    note('the secret is shown only now')
    show({ tokenId, secret }, options.json)
  } else show({ tokenId, subject }, options.json)
  await session.projected('access', position)
  if (subject !== undefined) await noteOthersOf(session, subject)
}

async function rotateTokenCommand(
  session: Session,
  tokenId: string,
  options: ActorOption & { overlap: string; reason?: string; json?: boolean },
): Promise<void> {
  const token = await findToken(session.pool, tokenId)
  if (!token) throw new CommandError(`no token ${tokenId}`)
  const overlapS = Number(options.overlap)
  if (!Number.isInteger(overlapS) || overlapS < 0)
    throw new UsageError('--overlap must be a whole number of seconds')
  const rotated = await rotateToken(depsOf(session, options), {
    tokenId,
    kind: token.kind,
    overlapMs: overlapS * 1_000,
    reason: reasonOf(options),
  })
  note(`the secret is shown only now; the old one ends in ${overlapS} s`)
  show({ tokenId, secret: rotated.secret }, options.json)
  await session.projected('access', rotated.position)
}

/** `tollgate token limit` */
async function limitTokenCommand(
  session: Session,
  tokenId: string,
  options: LimitOptions & ActorOption & { reason?: string; json?: boolean },
): Promise<void> {
  const changes = limitChangesOf(options)
  const { position } = await changeTokenLimits(depsOf(session, options), {
    tokenId,
    changes,
    reason: reasonOf(options),
  })
  await session.projected('access', position)
  const token = await findToken(session.pool, tokenId)
  show({ tokenId, limits: options.json ? token?.limits : limitsText(token?.limits) }, options.json)
}

/** `tollgate token update` */
async function updateTokenCommand(
  session: Session,
  tokenId: string,
  options: ActorOption & UpdateOptions & { reason?: string; json?: boolean },
): Promise<void> {
  const { position } = await changeToken(depsOf(session, options), {
    tokenId,
    reason: reasonOf(options),
    changes: await tokenChangesOf(session, options),
  })
  await session.projected('access', position)
  const token = await findToken(session.pool, tokenId)
  show(
    {
      tokenId,
      name: token?.name,
      models: token?.models?.join(',') ?? 'all',
      addresses: token?.addresses?.join(',') ?? 'any',
      expires: token?.expiresAtMs === undefined ? 'never' : toTimestamp(token.expiresAtMs),
    },
    options.json,
  )
}

async function disableTokenCommand(
  session: Session,
  tokenId: string,
  options: ActorOption & { reason: string; issued?: boolean; json?: boolean },
): Promise<void> {
  const deps = depsOf(session, options)
  const { reason } = options
  const { position } = await disableToken(deps, { tokenId, reason })
  const { disabled, active } = await disableIssued(deps, session.pool, {
    tokenId,
    reason: options.issued === true ? reason : undefined,
    mayDisable: () => true,
  })
  if (active > 0) note(`${active} tokens that it issued still work: --issued disables them`)
  show({ tokenId, disabled: true, issuedDisabled: disabled, issuedActive: active }, options.json)
  await session.projected('access', position)
}

async function listTokensCommand(
  session: Session,
  options: { tenant: string; json?: boolean },
): Promise<void> {
  const page = { tenantId: options.tenant, limit: LIST_LIMIT }
  const tokens = await shownTokens(session.pool, await listTokens(session.pool, page))
  if (options.json) return print(toJson(tokens))
  const rows = tokens.map((t) => [
    t.tokenId,
    t.role === undefined ? t.kind : `${t.kind} (${t.role})`,
    t.subject === undefined ? `…${t.lastFour}` : 'no secret',
    t.subject === undefined || t.subject === t.name ? t.name : `${t.name} (${t.subject})`,
    t.userId,
    t.issuedBy ?? '',
    t.lastUsedAtMs === undefined ? 'never' : toTimestamp(t.lastUsedAtMs),
    limitsText(t.limits),
  ])
  const titles = ['token', 'kind', 'ends', 'name', 'user', 'issued by', 'last used', 'limits']
  for (const line of table(titles, rows)) print(line)
}
