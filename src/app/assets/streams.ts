import {
  assetDecider,
  type AssetActor,
  type AssetState,
  type RecordedAsset,
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

/** The library's three aggregates, from the log, so that any process's last write counts. */

type Reading = Pick<EventLog, 'readStream'>

/** A text that is not an id of ours names no stream. */
export async function readAsset(log: Reading, id: string): Promise<AssetState> {
  return (await readAssetAt(log, id))?.state ?? assetDecider.initial
}

/** An asset by its stream up to a revision. */
export interface AssetAt {
  readonly state: RecordedAsset
  readonly revision: bigint
}

/** Reads an asset with its revision; undefined when there is none. */
export async function readAssetAt(log: Reading, id: string): Promise<AssetAt | undefined> {
  const events = isAssetId(id) ? await log.readStream(assetStream(id)) : []
  // The stream name comes from this aggregate, so the stream holds only its events.
  const { evolve, initial } = assetDecider
  const state = (events as unknown as readonly AssetEvent[]).reduce(evolve, initial)
  const revision = events.at(-1)?.revision
  return state.phase === 'none' || revision === undefined ? undefined : { state, revision }
}

/** Reads a group in the same way. */
export async function readGroup(log: Reading, id: string): Promise<AssetGroupState> {
  const events = isAssetGroupId(id) ? await log.readStream(assetGroupStream(id)) : []
  const { evolve, initial } = assetGroupDecider
  return (events as readonly AssetGroupEvent[]).reduce(evolve, initial)
}

/** The id is a hash of ours, so any text names a stream. */
export async function readVerification(log: Reading, id: string): Promise<VerificationState> {
  const events = await log.readStream(verificationStream(id))
  const { evolve, initial } = verificationDecider
  return (events as readonly VerificationEvent[]).reduce(evolve, initial)
}

/** Actor of a command, and its permanent id on its stream. */
export interface AssetCommandContext {
  readonly tenantId: string
  /** Absent: the gateway itself. */
  readonly tokenId?: string
  readonly correlationId: string
  readonly commandId: string
  /** The stream is empty. */
  readonly isNew?: true
}

/** Dependencies of executing commands. */
type On = Pick<AssetDeps, 'log' | 'recent'>

async function executed<State, Command, Event extends AnyEvent>(
  { log, recent }: On,
  context: AssetCommandContext,
  aim: Pick<ExecuteInput<State, Command, Event>, 'stream' | 'decider' | 'command' | 'known'>,
): Promise<ExecuteResult<State, Event>> {
  const { tenantId, tokenId, correlationId, commandId, isNew } = context
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

/** Runs a command on one aggregate. @throws errors of its decider, and the log's codes */
function on<State, Command, Event extends AnyEvent>(
  streamOf: (id: string) => ExecuteInput<State, Command, Event>['stream'],
  decider: ExecuteInput<State, Command, Event>['decider'],
) {
  return async (
    deps: On,
    id: string,
    command: Command,
    context: AssetCommandContext,
  ): Promise<State> =>
    (await executed(deps, context, { stream: streamOf(id), decider, command })).state
}

export const onAsset = on(assetStream, assetDecider)
export const onGroup = on(assetGroupStream, assetGroupDecider)
export const onVerification = on(verificationStream, verificationDecider)

/**
 * Runs the command of a use on the known state, so that a long stream is not read for it. Returns
 * the new state.
 */
export async function useAsset(
  deps: On,
  known: AssetAt,
  by: AssetActor,
  context: AssetCommandContext,
): Promise<AssetAt> {
  const stream = assetStream(known.state.asset.assetId)
  const aim = { stream, decider: assetDecider, command: { kind: 'use', by } as const, known }
  const { state, revision = known.revision } = await executed(deps, context, aim)
  return state.phase === 'none' ? known : { state, revision }
}
