import type { CallInput, PricingInput } from '../../../app/calls/family.ts'
import type { Speaker, SpeechOrder } from '../../../app/calls/speaker.ts'
import { inMembersOfCaller } from '../../../domain/catalog/simple-video.ts'
import { invariant } from '../../../kernel/assert.ts'
import { DomainError, isDomainError } from '../../../kernel/errors.ts'
import { membersGiven } from '../../../kernel/json.ts'
import { readSpeech, type SpeechRequest, withVoice } from '../rules/request.ts'
import { SPEECH } from '../rules/rules.ts'
import { speechModel } from '../rules/voices.ts'
import type { SpeechCalls } from './clone.ts'

/** Official clients play `pcm` at this rate. */
const PCM_SAMPLE_RATE = 24_000

/** The members of an order by the names of the family's own. */
const ownNames: Readonly<Record<string, string>> = {
  text: 'input',
  voice_id: 'voice',
  audio_setting: 'response_format',
  'audio_setting.format': 'response_format',
}

/** @throws DomainError `invalid_request`, naming the member */
function readOrder({ model, text, voice, format, speed }: SpeechOrder): SpeechRequest {
  const rate = format === 'pcm' ? { sample_rate: PCM_SAMPLE_RATE } : {}
  return inMembersOfCaller(
    (param) => ownNames[param],
    () =>
      readSpeech(
        membersGiven<unknown>({
          model,
          text,
          voice_id: voice.name,
          speed,
          audio_setting: { format, ...rate },
        }),
        'call',
      ),
  )
}

/** A voice that cannot be used is a wrong member of the order. */
function inVoice(error: DomainError): DomainError {
  if (!isDomainError(error, 'voice_not_found')) return error
  const words = '`voice` names no voice that can be used here'
  return new DomainError('invalid_request', words, { ...error.details, param: 'voice' })
}

/** The family for callers who want the bytes of a file, whatever the form of a channel's answers. */
export function createVoiceSpeaker({ speech, resolveVoice }: SpeechCalls): Speaker {
  return {
    knows: (model) => speechModel(model) !== undefined,
    example: { model: 'speech-2.8-hd', voice: 'nova' },
    read: async (order, tenantId) => {
      const request = readOrder(order)
      const voice = await resolveVoice(tenantId, request.voiceId).catch((error: unknown) => {
        throw isDomainError(error) ? inVoice(error) : error
      })
      const sent = { body: withVoice(request, voice.voiceId), audioBytes: request.audioBytes }
      const own = <Input extends PricingInput<CallInput>>(input: Input) =>
        ({ ...input, request, voice, asBytes: true }) as const
      return {
        family: SPEECH,
        calls: {
          resolve: (input, serving) => ({
            ...speech.resolve(own(input), serving),
            request: undefined,
          }),
          ask: async (input, channel, _request, options) => {
            const { body, ...answer } = await speech.ask(own(input), channel, sent, options)
            const bytes = async (): Promise<Uint8Array> => {
              const spoken = await body()
              invariant(spoken.form === 'audio', 'its bytes were asked for')
              return spoken.bytes
            }
            return { ...answer, body: bytes }
          },
          refusal: (error, callId) => inVoice(speech.refusal(error, callId)),
        },
      }
    },
  }
}
