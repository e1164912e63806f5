import type { TextProvider } from '../../text-ports.ts'
import type { CallDeps } from '../deps.ts'
import type { KeptIds } from './kept-ids.ts'

/** What the text use cases stand on beside the road of every call. */
export interface TextDeps extends CallDeps {
  readonly providers: ReadonlyMap<string, TextProvider>
  readonly keptIds: KeptIds
}
