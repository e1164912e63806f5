import type { CallOptions, Channel } from '../../app/ports/provider.ts'
import type { JsonObject } from '../../kernel/json.ts'
import type { TextRequest } from '../text/ports.ts'

/** The caller's names of a response, where upstream's differ. */
export type CallerNames = Pick<TextRequest, 'model' | 'keptId'>

/** Reads and deletes responses that an account keeps, by upstream's ids. */
export interface KeptResponseProvider {
  /**
   * The response as callers see it, named by what upstream answered; undefined where upstream has
   * none. @throws ProviderError
   */
  readonly get: (
    channel: Channel,
    upstreamId: string,
    namesOf: (response: JsonObject) => CallerNames,
    options: CallOptions,
  ) => Promise<JsonObject | undefined>
  /** Whether upstream had it. @throws ProviderError */
  readonly delete: (channel: Channel, upstreamId: string, options: CallOptions) => Promise<boolean>
}
