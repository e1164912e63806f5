import { waitingVoids, type WaitingVoid } from '../../../../projections/statements/query.ts'
import { settingIn } from '../../../domain/account/settings.ts'
import { statementDecider } from '../../../domain/statement/decider.ts'
import { statementStream } from '../../../domain/statement/events.ts'
import type { StatementsState } from '../../../domain/statement/periods.ts'
import {
  type ApproveVoid,
  type ProposeVoid,
  type RejectVoid,
  type VoidStatus,
  voidStatusOf,
} from '../../../domain/statement/void.ts'
import { executeCommand, readOn } from '../../../eventlog/log/execute.ts'
import { invariant } from '../../../kernel/assert.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { newId } from '../../../kernel/ids.ts'
import type { Currency } from '../../../kernel/money.ts'
import type { AccountCommandDeps, Changed } from '../../accounts/account-commands.ts'
import { readAccountState } from '../../accounts/account-state.ts'
import { type AdminScope, requireOperator } from '../../accounts/admin-scope.ts'
import { personWithIssuers } from '../../accounts/known-token.ts'
import { originsOf } from '../../accounts/managed-proposals.ts'
import { findTenant } from '../../accounts/managed-tenants.ts'
import { type Actor, depsOf, type ManagementDeps, shown } from '../../accounts/management.ts'
import type { CrashPoint } from '../../crash-points.ts'
import { requireCaughtUp } from '../../read-models/catch-up.ts'

/** Voids of closed months: one person proposes, another one approves. */

type VoidDeps = AccountCommandDeps & { readonly crashPoint: CrashPoint }
type VoidCommand = ProposeVoid | ApproveVoid | RejectVoid

/** A month of a tenant in one currency. */
interface MonthName {
  readonly tenantId: string
  readonly currency: Currency
  /** `YYYY-MM`. */
  readonly month: string
}

/** The proposal to void a month after a decision about it. */
export interface DecidedVoid extends Changed {
  readonly void: VoidStatus
}

/** The closes of a tenant by the log. @throws errors of the log */
async function readStatements(
  { log }: Pick<AccountCommandDeps, 'log'>,
  tenantId: string,
): Promise<StatementsState> {
  const { state } = await readOn(log, statementStream(tenantId), statementDecider, undefined)
  return state
}

async function decideVoid(
  { log, crashPoint, correlationId, actor }: VoidDeps,
  tenantId: string,
  command: VoidCommand,
  nowMs: number,
): Promise<DecidedVoid> {
  crashPoint('void.before-append')
  const { state, events, position } = await executeCommand({
    log,
    stream: statementStream(tenantId),
    decider: statementDecider,
    command,
    commandId: newId('cmd', nowMs),
    metadata: { correlationId, actor, tenantId },
  })
  crashPoint('void.after-append')
  const status = voidStatusOf(state, command, command.at)
  invariant(status, `${command.month} was decided and has no proposal`)
  return { void: status, changed: events.length > 0, position }
}

/**
 * Proposes to void the last closed month of a currency; while it is proposed, the same again changes
 * nothing. @throws DomainError of the decider and of the log
 */
export async function proposeVoid(
  deps: VoidDeps,
  { tenantId, ...input }: MonthName & Pick<ProposeVoid, 'reason' | 'by'>,
): Promise<DecidedVoid> {
  const { settings } = await readAccountState(deps, tenantId)
  const { lapseHours } = settingIn(settings, 'approvals')
  const nowMs = deps.clock.nowMs()
  const command = { kind: 'propose-void', ...input, lapseHours, at: toTimestamp(nowMs) } as const
  return decideVoid(deps, tenantId, command, nowMs)
}

/** Ends a proposal without its void. @throws DomainError of the decider and of the log */
export function rejectVoid(
  deps: VoidDeps,
  { tenantId, ...input }: MonthName & Pick<RejectVoid, 'reason' | 'by'>,
): Promise<DecidedVoid> {
  const nowMs = deps.clock.nowMs()
  const command = { kind: 'reject-void', ...input, at: toTimestamp(nowMs) } as const
  return decideVoid(deps, tenantId, command, nowMs)
}

/**
 * Voids of closed months by operators' tokens; for others every use but the list is `scope_denied`, and a tenant
 * outside the scope is `tenant_not_found` (P8).
 */
export interface ManagedVoids {
  /** Voids within the scope that wait for an approval, oldest first, also for administrators of a tenant. */
  readonly waiting: (
    adminScope: AdminScope,
    page: { readonly limit: number },
  ) => Promise<readonly WaitingVoid[]>
  readonly propose: (
    adminScope: AdminScope,
    by: Actor,
    input: MonthName & { readonly reason: string },
  ) => Promise<DecidedVoid>
  /** Voids the month; a repetition by the same user changes nothing. */
  readonly approve: (adminScope: AdminScope, by: Actor, name: MonthName) => Promise<DecidedVoid>
  /** A repetition by the same user with the same reason changes nothing. */
  readonly reject: (
    adminScope: AdminScope,
    by: Actor,
    input: MonthName & { readonly reason: string },
  ) => Promise<DecidedVoid>
}

/** @throws the codes of the decider and of the log */
export function createManagedVoids(
  deps: ManagementDeps & { readonly crashPoint: CrashPoint },
): ManagedVoids {
  const { crashPoint, log } = deps
  const requireTenant = async (adminScope: AdminScope, tenantId: string): Promise<void> => {
    requireOperator(adminScope)
    await findTenant(deps, adminScope, tenantId)
  }
  const visible = async (decided: DecidedVoid): Promise<DecidedVoid> => {
    await shown(deps, 'statements', decided.position)
    return decided
  }
  const asked = (by: Actor): VoidDeps => ({ ...depsOf(deps, by), crashPoint })
  return {
    waiting: async (adminScope, { limit }) => {
      await requireCaughtUp(deps, 'statements')
      const tenantId = adminScope.kind === 'all' ? undefined : adminScope.tenantId
      return waitingVoids(deps.db, { tenantId, nowMs: deps.clock.nowMs(), limit })
    },
    propose: async (adminScope, by, input) => {
      await requireTenant(adminScope, input.tenantId)
      const person = await personWithIssuers(log, by)
      return visible(await proposeVoid(asked(by), { ...input, by: person }))
    },
    approve: async (adminScope, by, { tenantId, ...month }) => {
      await requireTenant(adminScope, tenantId)
      const nowMs = deps.clock.nowMs()
      const at = toTimestamp(nowMs)
      const earlier = voidStatusOf(await readStatements(deps, tenantId), month, at)
      const { by: proposedBy = null, proposedAt } = earlier?.proposal ?? {}
      const origins = await originsOf(deps, by, proposedBy)
      const person = await personWithIssuers(log, by)
      const asks = { ...month, by: person, origins, proposedAt, at }
      const command = { kind: 'approve-void', ...asks } as const
      return visible(await decideVoid(asked(by), tenantId, command, nowMs))
    },
    reject: async (adminScope, by, input) => {
      await requireTenant(adminScope, input.tenantId)
      const person = await personWithIssuers(log, by)
      return visible(await rejectVoid(asked(by), { ...input, by: person }))
    },
  }
}
