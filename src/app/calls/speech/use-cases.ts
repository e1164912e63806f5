import type { SpeechProvider } from '../../speech-ports.ts'
import type { CallDeps } from '../deps.ts'
import type { RunningCalls } from '../running.ts'
import { streamCall } from '../stream.ts'
import { completeCall } from '../whole.ts'
import { createSpeechFamily, formOf } from './family.ts'
import type { SpeechUseCases } from './types.ts'

/** The synchronous use cases of speech. */
export function createSpeechUseCases(
  deps: CallDeps & { readonly provider: SpeechProvider },
  running: RunningCalls,
): SpeechUseCases {
  const family = createSpeechFamily(deps.provider)
  return {
    speak: (input) =>
      running.run(input.family, (stopped) => completeCall(deps, family, input, stopped)),
    stream: (input) =>
      running.run(input.family, async (stopped) => {
        const { streamed, pump, channel } = await streamCall(deps, family, input, stopped)
        running.watch(pump)
        return { ...streamed, form: formOf(channel) }
      }),
  }
}
