import { askAgain } from '../../../../projections/tasks/query.ts'
import type { TimelineScope } from '../../../../projections/timeline/query.ts'
import type { Person } from '../../../domain/account/postings.ts'
import type { Catalog } from '../../../domain/catalog/catalog.ts'
import type { NoteAction, NoteAudience } from '../../../domain/note/events.ts'
import { giveUp as decideGiveUp } from '../../../domain/task/give-up.ts'
import { hasUpstreamTask } from '../../../domain/task/observe.ts'
import type { TaskState } from '../../../domain/task/state.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../../kernel/errors.ts'
import { derivedId } from '../../../kernel/ids.ts'
import type { Log } from '../../../kernel/log.ts'
import { type AdminScope, requireOperator } from '../../accounts/admin-scope.ts'
import type { PostingName } from '../../accounts/managed-tenants.ts'
import type { CrashPoint } from '../../crash-points.ts'
import type { TaskMetrics } from '../../metrics.ts'
import { executeTaskCommand, loadTask, newCommandId } from '../../tasks/task-log.ts'
import type { KnownTasks } from '../../tasks/deps.ts'
import { isLifeId, type Life } from '../life.ts'
import { createPostNote, type NoteContext, type NoteDeps } from './notes.ts'

/**
 * Safe actions of support about a life. Each posts a note first, which says why and stays: if the
 * process dies before the effect, the same request again has the effect, and posts no second note.
 */

/** The one who acts. */
export interface SupportActor extends NoteContext {
  /** Undefined: a shell of an operator. */
  readonly person: Person | undefined
}

export interface NoteInput {
  /** Any id that the life is found by. */
  readonly lifeId: string
  readonly text: string
  readonly name: PostingName
}

/** A note after its request. */
export interface PostedNote {
  readonly noteId: string
  readonly tenantId: string
  /** The gateway's id of the life. */
  readonly about: string
  readonly action: NoteAction | undefined
  readonly text: string
  /** False: the same request had posted it, and done what it asks for, before. */
  readonly changed: boolean
}

export interface AskedAgain extends PostedNote {
  /** `now`: the next worker asks; `leased`: a worker has the task already, and asks by itself. */
  readonly due: 'now' | 'leased'
}

/**
 * Support acts on lives within its scope; another tenant's is `life_not_found`, as one
 * that is missing. @throws DomainError of the deciders of notes and tasks, and of the log
 */
export interface LifeActions {
  readonly note: (scope: AdminScope, by: SupportActor, input: NoteInput) => Promise<PostedNote>
  /** @throws DomainError `poll_refused`, `task_ended`, `rate_limited` */
  readonly poll: (scope: AdminScope, by: SupportActor, input: NoteInput) => Promise<AskedAgain>
  /** For operators. @throws DomainError `scope_denied`, `give_up_refused` */
  readonly giveUp: (scope: AdminScope, by: SupportActor, input: NoteInput) => Promise<PostedNote>
}

export interface LifeActionDeps extends NoteDeps {
  readonly catalog: Pick<Catalog, 'taskDecider' | 'taskFamily'>
  /** Finds a life, once the read models have all that the log has. */
  readonly findLife: (id: string, scope: TimelineScopeOfTenant) => Promise<Life | undefined>
  readonly crashPoint: CrashPoint
  readonly logger: Log
  /** Absent in a process that keeps no tasks. */
  readonly tasks?: { readonly metrics: TaskMetrics; readonly known: KnownTasks } | undefined
}

/** All users of a tenant; undefined: of every tenant. */
type TimelineScopeOfTenant = Required<Pick<TimelineScope, 'tenantId' | 'userIds'>>

/** Builds the actions over the stores of a process. */
export function createLifeActions(deps: LifeActionDeps): LifeActions {
  const postNote = createPostNote(deps)
  const act: Act = async (scope, by, life, { text, name, action }) => {
    const audience = scope.kind === 'all' ? 'operators' : 'tenant'
    const { tenantId, id: about } = life
    const noteId = noteIdOf(name, audience, tenantId)
    const lines = text.replaceAll('\r\n', '\n')
    const note = { tenantId, noteId, about, text: lines, audience } as const
    const optional = { ...(action && { action }), ...(by.person && { by: by.person }) }
    const changed = await postNote({ ...note, ...optional }, by).catch((error: unknown) => {
      throw ofKey(error, name)
    })
    return { noteId, tenantId, about, action, text: lines, changed }
  }
  return {
    note: async (scope, by, input) => act(scope, by, await lifeOf(deps, scope, input), input),
    poll: async (scope, by, input) => poll(deps, act, { scope, by, input }),
    giveUp: async (scope, by, input) => giveUp(deps, act, { scope, by, input }),
  }
}

type Act = (
  scope: AdminScope,
  by: SupportActor,
  life: Life,
  input: NoteInput & { readonly action?: NoteAction },
) => Promise<PostedNote>

interface Asked {
  readonly scope: AdminScope
  readonly by: SupportActor
  readonly input: NoteInput
}

/** @throws DomainError `life_not_found` */
async function lifeOf(
  { findLife }: Pick<LifeActionDeps, 'findLife'>,
  scope: AdminScope,
  { lifeId }: NoteInput,
): Promise<Life> {
  const tenantId = scope.kind === 'all' ? undefined : scope.tenantId
  const life = isLifeId(lifeId)
    ? await findLife(lifeId, { tenantId, userIds: undefined })
    : undefined
  if (life === undefined || (tenantId !== undefined && life.tenantId !== tenantId))
    throw new DomainError('life_not_found', 'no record with this id is visible to this token', {})
  return life
}

/** The id of the note, or the one that its key stands for in a tenant. */
function noteIdOf({ id, key }: PostingName, audience: NoteAudience, tenantId: string): string {
  return key === undefined ? id : derivedId('note', ['note', audience, tenantId, key])
}

/** A key that another request used is named as such, and not by the id that it stands for. */
function ofKey(error: unknown, { key }: PostingName): unknown {
  if (key === undefined || !isDomainError(error, 'note_exists')) return error
  return new DomainError(
    'idempotency_key_reused',
    'this Idempotency-Key was used with another request',
    { param: 'Idempotency-Key' },
  )
}

async function poll(
  deps: LifeActionDeps,
  act: Act,
  { scope, by, input }: Asked,
): Promise<AskedAgain> {
  const life = await lifeOf(deps, scope, input)
  const { id } = life
  if (life.kind !== 'task')
    throw new DomainError(
      'poll_refused',
      `${id} is not a task but a ${life.kind.replace('_', ' ')}: the provider can be asked about tasks only`,
      {},
    )
  checkPollable(id, await loadTask(deps.log, id))
  const posted = await act(scope, by, life, { ...input, action: 'poll' })
  deps.crashPoint('note.before-poll')
  const isDue = await askAgain(deps.pool, id, deps.clock.nowMs())
  return { ...posted, due: isDue ? 'now' : 'leased' }
}

/** @throws DomainError `task_ended`, `poll_refused` */
function checkPollable(id: string, state: TaskState): void {
  if (state.phase === 'none') return
  if (state.phase === 'refused' || state.phase === 'ended') {
    const how = state.phase === 'ended' ? state.status : 'refused before it began'
    throw new DomainError(
      'task_ended',
      `${id} has ended (${how}): the provider is not asked about it any more`,
      {},
    )
  }
  if (!hasUpstreamTask(state.request))
    throw new DomainError(
      'poll_refused',
      `the gateway itself makes ${id}: no provider has a task that could be asked about`,
      {},
    )
}

async function giveUp(
  deps: LifeActionDeps,
  act: Act,
  { scope, by, input }: Asked,
): Promise<PostedNote> {
  requireOperator(scope)
  const life = await lifeOf(deps, scope, input)
  const { id, tenantId } = life
  if (life.kind !== 'task')
    throw new DomainError(
      'give_up_refused',
      `${id} is not a task but a ${life.kind.replace('_', ' ')}: only a task can be given up`,
      {},
    )
  const nowMs = deps.clock.nowMs()
  const noteId = noteIdOf(input.name, 'operators', tenantId)
  const command = { kind: 'give-up', noteId, at: toTimestamp(nowMs) } as const
  // A note of what is certainly refused would only confuse its readers.
  decideGiveUp(command, await loadTask(deps.log, id), deps.catalog)
  const posted = await act(scope, by, life, { ...input, action: 'give_up' })
  deps.crashPoint('note.before-give-up')
  const { correlationId } = by
  const { events, state } = await executeTaskCommand(deps, id, command, newCommandId(nowMs), {
    correlationId,
    tenantId,
  })
  deps.crashPoint('note.after-give-up')
  deps.tasks?.known.delete(id)
  if (events.length === 0 || state.phase !== 'ended') return { ...posted, changed: false }
  deps.tasks?.metrics.possibleCostLeaks.inc()
  deps.tasks?.metrics.ended.inc({ model: state.request.model, status: 'failed' })
  deps.logger.error({ platformId: id, tenantId, noteId }, 'task given up: upstream may bill it')
  return { ...posted, changed: true }
}
