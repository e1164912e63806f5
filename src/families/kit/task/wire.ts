import type { Channel, TaskObservation, TaskProvider, TaskSubmission } from '../../../app/ports.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { BodyInPieces } from '../http/json.ts'
import type { Scrubber } from '../http/lines.ts'
import type { UpstreamError } from './errors.ts'

/** What a list may be asked for. */
export type Wanted = Parameters<TaskProvider['list']>[1]

/** What one asynchronous family is on the wire; everything else is the same for all of them. */
export interface TaskWire extends Pick<
  TaskProvider,
  'family' | 'maxListIds' | 'maxListSize' | 'maxListPages' | 'showsMarkers'
> {
  readonly credentialHeaders: (channel: Channel) => Readonly<Record<string, string>>
  /** Below the channel's base URL. */
  readonly createPath: (submission: TaskSubmission) => string
  /** A creation as upstream takes it, its marker where lists show it; large media in pieces. */
  readonly createBody: (submission: TaskSubmission) => JsonObject | BodyInPieces
  readonly taskPath: (nativeId: string) => string
  /** How a task is cancelled; absent: by deleting it at its path. */
  readonly cancelRequest?: (nativeId: string) => {
    readonly method: 'POST' | 'DELETE'
    readonly path: string
    readonly body?: JsonObject
  }
  readonly listPath: (wanted: Wanted) => string
  /**
   * The status an answer stands for, on a wire whose answers are all 200; undefined: it is a success.
   */
  readonly statusOf?: (body: unknown, asked: 'creation' | 'query') => number | undefined
  /** The error of an answer other than 2xx; undefined when it holds none, as for an unknown path. */
  readonly readError: (body: unknown) => UpstreamError | undefined
  /** The id of an accepted task; undefined when it is no answer of this wire. */
  readonly readCreated: (body: unknown) => string | undefined
  /** What an accepted task counts, on a wire that says so with its id alone. */
  readonly readUsage?: (body: unknown) => Usage | undefined
  /** `asked` is the id of a query for one task, for a wire whose answer may leave it out. */
  readonly readTask: (body: unknown, scrub: Scrubber, asked?: string) => TaskObservation | undefined
  /** Where the links to a result are asked for, on a wire whose tasks do not have them. */
  readonly linksPath?: (task: TaskObservation) => string | undefined
  readonly readLinks?: (body: unknown) => TaskObservation['urls']
  readonly readList: (
    body: unknown,
  ) => { readonly items: readonly unknown[]; readonly total: number | undefined } | undefined
}
