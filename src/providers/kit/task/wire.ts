import type { Channel, TaskObservation, TaskProvider, TaskSubmission } from '../../../app/ports.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { Scrubber } from '../http/scrub.ts'
import type { UpstreamError } from './errors.ts'

/** What a list may be asked for. */
export type Wanted = Parameters<TaskProvider['list']>[1]

/** What one asynchronous family is on the wire; everything else is the same for all of them. */
export interface TaskWire extends Pick<
  TaskProvider,
  'family' | 'maxListIds' | 'maxListSize' | 'maxListPages'
> {
  readonly credentialHeaders: (channel: Channel) => Readonly<Record<string, string>>
  /** Below the channel's base URL. */
  readonly createPath: string
  /** A creation as upstream takes it, its marker where lists show it. */
  readonly createBody: (submission: TaskSubmission) => JsonObject
  readonly taskPath: (nativeId: string) => string
  readonly listPath: (wanted: Wanted) => string
  /** The error of an answer other than 2xx; undefined when it holds none, as for an unknown path. */
  readonly readError: (body: unknown) => UpstreamError | undefined
  /** The id of an accepted task; undefined when it is no answer of this wire. */
  readonly readCreated: (body: unknown) => string | undefined
  readonly readTask: (body: unknown, scrub: Scrubber) => TaskObservation | undefined
  readonly readList: (
    body: unknown,
  ) => { readonly items: readonly unknown[]; readonly total: number | undefined } | undefined
}
