import type { Speaker, SpeechOrder } from '../../../app/calls/speaker.ts'
import { refusalOf } from '../../../app/channels/refusal.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { membersGiven } from '../../../kernel/json.ts'
import type { AudioProvider } from '../ports.ts'
import { AUDIO, audioRules, usageOf } from '../rules/rules.ts'
import { voiceAt } from '../settings.ts'

/** An upstream's name of a form is the caller's. */
function bodyOf({ text, format, speed }: SpeechOrder, voice: string) {
  return membersGiven<unknown>({ input: text, voice, response_format: format, speed })
}

/** The family on `/v1/audio/speech`; it is asked for every model that no other family has. */
export function createAudioSpeaker(provider: AudioProvider): Speaker {
  return {
    knows: () => true,
    example: { model: 'audio-basic', voice: 'alloy' },
    read: (order) => {
      const { model, text, voice } = order
      if (voice.byId)
        refuse('voice', '`voice` must be a name: models of this kind have no cloned voices')
      const usage = usageOf(text)
      const priced = { model, characters: Number(usage['character']) }
      return Promise.resolve({
        family: AUDIO,
        calls: {
          resolve: () => ({
            request: undefined,
            channelQuery: { family: AUDIO, model },
            expectedTokens: () => audioRules.expectedTokens(priced),
            price: (book) => audioRules.price(priced, book),
          }),
          ask: async (_input, channel, _request, options) => {
            const upstreamModel = channel.models[model] ?? model
            const body = bodyOf(order, voiceAt(channel, voice.name))
            const answer = await provider.speak(channel, { upstreamModel, body }, options)
            const { bytes, upstreamRequestId, restMs } = answer
            return {
              body: () => bytes,
              upstreamRequestId,
              restMs,
              seen: { usage },
              failed: undefined,
            }
          },
          refusal: refusalOf,
        },
      })
    },
  }
}
