import type { SpeechProvider } from '../../speech-ports.ts'
import type { CallDeps } from '../deps.ts'
import { createCallRunner } from '../runner.ts'
import type { RunningCalls } from '../running.ts'
import { createSpeechFamily, formOf } from './family.ts'
import type { SpeechUseCases } from './types.ts'

/** The synchronous use cases of speech. */
export function createSpeechUseCases(
  deps: CallDeps & { readonly provider: SpeechProvider },
  running: RunningCalls,
): SpeechUseCases {
  const family = createSpeechFamily(deps.provider)
  const runner = createCallRunner(deps, running)
  return {
    speak: (input) => runner.complete(family, input),
    stream: async (input) => {
      const { channel, ...streamed } = await runner.stream(family, input)
      return { ...streamed, form: formOf(channel) }
    },
  }
}
