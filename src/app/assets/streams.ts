import {
  assetDecider,
  type AssetActor,
  type AssetState,
  type SomeAsset,
} from '../../domain/asset/decider.ts'
import { type AssetEvent, assetStream } from '../../domain/asset/events.ts'
import { assetGroupDecider, type AssetGroupState } from '../../domain/asset-group/decider.ts'
import { type AssetGroupEvent, assetGroupStream } from '../../domain/asset-group/events.ts'
import { verificationDecider, type VerificationState } from '../../domain/verification/decider.ts'
import { type VerificationEvent, verificationStream } from '../../domain/verification/events.ts'
import type { AnyEvent } from '../../domain/any-event.ts'
import {
  executeCommand,
  type ExecuteInput,
  type ExecuteResult,
} from '../../eventlog/log/execute.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { isAssetGroupId, isAssetId } from '../../kernel/ids.ts'
import type { AssetDeps } from './deps.ts'

/** The three aggregates of the library, as the log has them: what any process wrote a moment ago is seen. */

type Reading = Pick<EventLog, 'readStream'>

/** What is no id of ours names no stream, and so nothing. */
export async function readAsset(log: Reading, id: string): Promise<AssetState> {
  return (await readAssetAt(log, id))?.state ?? assetDecider.initial
}

/** An asset as its stream has it up to a revision. */
export interface AssetAt {
  readonly state: SomeAsset
  readonly revision: bigint
}

/** Likewise, and where in its stream that is; undefined where there is none. */
export async function readAssetAt(log: Reading, id: string): Promise<AssetAt | undefined> {
  const events = isAssetId(id) ? await log.readStream(assetStream(id)) : []
  // A stream holds only events of its own aggregate: its name comes from that aggregate.
  const { evolve, initial } = assetDecider
  const state = (events as unknown as readonly AssetEvent[]).reduce(evolve, initial)
  const revision = events.at(-1)?.revision
  return state.phase === 'none' || revision === undefined ? undefined : { state, revision }
}

/** Likewise. */
export async function readGroup(log: Reading, id: string): Promise<AssetGroupState> {
  const events = isAssetGroupId(id) ? await log.readStream(assetGroupStream(id)) : []
  const { evolve, initial } = assetGroupDecider
  return (events as readonly AssetGroupEvent[]).reduce(evolve, initial)
}

/** The id is a hash of ours, so anything names a stream. */
export async function readVerification(log: Reading, id: string): Promise<VerificationState> {
  const events = await log.readStream(verificationStream(id))
  const { evolve, initial } = verificationDecider
  return (events as readonly VerificationEvent[]).reduce(evolve, initial)
}

/** Whose doing a command is, and what names it for ever on its stream. */
export interface Doing {
  readonly tenantId: string
  /** Absent: our own. */
  readonly tokenId?: string
  readonly correlationId: string
  readonly commandId: string
  /** The stream has nothing yet. */
  readonly isNew?: true
}

/** Where commands are executed. */
type On = Pick<AssetDeps, 'log' | 'recent'>

async function executed<State, Command, Event extends AnyEvent>(
  { log, recent }: On,
  doing: Doing,
  aim: Pick<ExecuteInput<State, Command, Event>, 'stream' | 'decider' | 'command' | 'known'>,
): Promise<ExecuteResult<State, Event>> {
  const { tenantId, tokenId, correlationId, commandId, isNew } = doing
  const result = await executeCommand({
    log,
    commandId,
    metadata: { correlationId, tenantId, ...(tokenId === undefined ? {} : { tokenId }) },
    ...(isNew ? { known: 'none' as const } : {}),
    ...aim,
  })
  recent.note(tenantId, result.position)
  return result
}

/** A command to one aggregate of the library. @throws what its decider throws, and the codes of the log */
function on<State, Command, Event extends AnyEvent>(
  streamOf: (id: string) => ExecuteInput<State, Command, Event>['stream'],
  decider: ExecuteInput<State, Command, Event>['decider'],
) {
  return async (deps: On, id: string, command: Command, doing: Doing): Promise<State> =>
    (await executed(deps, doing, { stream: streamOf(id), decider, command })).state
}

export const onAsset = on(assetStream, assetDecider)
export const onGroup = on(assetGroupStream, assetGroupDecider)
export const onVerification = on(verificationStream, verificationDecider)

/**
 * Likewise a use, decided on what is known: a stream that is long is not read for it. Returns what is
 * known then.
 */
export async function useAsset(
  deps: On,
  known: AssetAt,
  by: AssetActor,
  doing: Doing,
): Promise<AssetAt> {
  const stream = assetStream(known.state.asset.assetId)
  const aim = { stream, decider: assetDecider, command: { kind: 'use', by } as const, known }
  const { state, revision = known.revision } = await executed(deps, doing, aim)
  return state.phase === 'none' ? known : { state, revision }
}
