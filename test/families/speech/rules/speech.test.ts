import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  aliasedVoice,
  isBuiltInVoice,
  offeredModels,
  speechModels,
} from '../../../../src/families/speech/rules/voices.ts'
import type { SpeechMode } from '../../../../src/families/speech/rules/body.ts'
import {
  charactersOf,
  readSpeech,
  withVoice,
} from '../../../../src/families/speech/rules/request.ts'
import { speechCallRules, speechTaskRules } from '../../../../src/families/speech/rules/rules.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'
import { formatAmount } from '../../../../src/kernel/money.ts'
import { type PriceBook, unpricedSkus } from '../../../../src/domain/pricing/price-book.ts'
import { shippedBook } from '../../../domain/pricing/books.ts'

type Fields = Readonly<Record<string, unknown>>
const good = { model: 'speech-2.8-hd', text: 'Good morning.', voice_id: 'male-qn-qingse' }
const read = (fields: Fields = {}, way: SpeechMode = 'call') =>
  readSpeech({ ...good, ...fields }, way)

function refused(t: Test, fields: Fields, param: string, way: SpeechMode = 'call'): void {
  try {
    read(fields, way)
    t.fail(`not refused: ${JSON.stringify(fields).slice(0, 200)}`)
  } catch (error) {
    if (!isDomainError(error, 'invalid_request')) throw error
    t.equal(error.details['param'], param, JSON.stringify(fields).slice(0, 200))
    t.match(error.message, `\`${param}\``)
  }
}

t.test('flat members are moved into upstream’s groups, grouped ones stay', (t) => {
  const asked = read({
    emotion: 'sad',
    sound_effects: 'lofi_telephone',
    language_boost: 'auto',
    voice_setting: { speed: 0.5, vol: 10, pitch: -12, voice_id: 'male-qn-qingse' },
    audio_setting: { sample_rate: 44_100, bitrate: 256_000, format: 'wav', channel: 2 },
    pronunciation_dict: { tone: ['omg/oh my god'] },
  })
  t.same(withVoice(asked, 'upstream-voice'), {
    text: 'Good morning.',
    stream: false,
    output_format: 'hex',
    language_boost: 'auto',
    voice_setting: {
      speed: 0.5,
      vol: 10,
      pitch: -12,
      emotion: 'sad',
      voice_id: 'upstream-voice',
    },
    audio_setting: { sample_rate: 44_100, bitrate: 256_000, format: 'wav', channel: 2 },
    voice_modify: { sound_effects: 'lofi_telephone' },
    pronunciation_dict: { tone: ['omg/oh my god'] },
  })
  t.match(asked, { delivery: 'hex', streamed: false, format: 'wav' })
  t.match(read({ output_format: 'url' }), { delivery: 'url', body: { output_format: 'url' } })
  t.notMatch(JSON.stringify(asked.facts), /morning/, 'no text is written down')
  t.end()
})

t.test('a task has its own member for the sampling rate, and no output format', (t) => {
  const asked = read(
    { output_format: 'whatever', audio_setting: { sample_rate: 8_000 }, stream: false },
    'task',
  )
  t.same(withVoice(asked, 'v'), {
    text: 'Good morning.',
    voice_setting: { voice_id: 'v' },
    audio_setting: { audio_sample_rate: 8_000 },
  })
  t.end()
})

t.test('an alias stands for a voice, with its emotion as a default', (t) => {
  for (const way of ['call', 'task'] as const) {
    const of = (fields: Fields) => {
      const { voiceId, body } = read(fields, way)
      return [voiceId, Object(body['voice_setting']).emotion]
    }
    t.same(of({ voice_id: 'alloy' }), ['female-chengshu', undefined])
    t.same(of({ voice_id: 'echo' }), ['male-qn-qingse', undefined])
    t.same(of({ voice_id: 'fable' }), ['male-qn-jingying', undefined])
    t.same(of({ voice_id: 'onyx' }), ['presenter_male', 'calm'])
    t.same(of({ voice_id: 'nova' }), ['presenter_female', 'happy'])
    t.same(of({ voice_id: 'shimmer' }), ['audiobook_female_1', 'calm'])
    t.same(of({ voice_id: 'shimmer', emotion: 'angry' }), ['audiobook_female_1', 'angry'])
    t.same(of({ voice_id: 'audiobook_female_1' }), ['audiobook_female_1', undefined])
  }
  const official =
    'alloy ash ballad cedar coral echo fable marin nova onyx sage shimmer verse'.split(' ')
  const voices = official.map((name) => aliasedVoice(name)?.voiceId ?? '')
  for (const voice of voices) t.ok(isBuiltInVoice(voice), voice)
  t.equal(new Set(voices).size, official.length, 'no two of them sound alike')
  t.ok(isBuiltInVoice('English_Graceful_Lady') && isBuiltInVoice('Chinese (Mandarin)_Warm_Bestie'))
  t.notOk(isBuiltInVoice('MyVoice_001') || isBuiltInVoice('English'))
  t.end()
})

t.test('every range and choice is refused by name', (t) => {
  const cases: readonly (readonly [Fields, string, SpeechMode?])[] = [
    [{ model: undefined }, 'model'],
    [{ model: 7 }, 'model'],
    [{ text: undefined }, 'text'],
    [{ text: ' \n' }, 'text'],
    [{ text: 'x'.repeat(10_000) }, 'text'],
    [{ text: 'x'.repeat(50_001) }, 'text', 'task'],
    [{ voice_id: undefined }, 'voice_id'],
    [{ voice_id: '' }, 'voice_id'],
    [{ voice_id: 'x'.repeat(257) }, 'voice_id'],
    [{ voice_setting: { voice_id: 'other' } }, 'voice_setting.voice_id'],
    [{ voice_setting: [] }, 'voice_setting'],
    [{ output_format: 'base64' }, 'output_format'],
    [{ emotion: 'bored' }, 'emotion'],
    [{ emotion: 'sad', voice_setting: { emotion: 'calm' } }, 'voice_setting.emotion'],
    [{ sound_effects: 'cave' }, 'sound_effects'],
    [{ voice_modify: { sound_effects: 'cave' } }, 'voice_modify.sound_effects'],
    [{ sound_effects: 'robotic', audio_setting: { format: 'pcm' } }, 'sound_effects'],
    [{ voice_setting: { speed: 0.49 } }, 'voice_setting.speed'],
    [{ voice_setting: { speed: 2.01 } }, 'voice_setting.speed'],
    [{ voice_setting: { speed: '1' } }, 'voice_setting.speed'],
    [{ voice_setting: { vol: 0 } }, 'voice_setting.vol'],
    [{ voice_setting: { vol: 10.1 } }, 'voice_setting.vol'],
    [{ voice_setting: { pitch: 13 } }, 'voice_setting.pitch'],
    [{ voice_setting: { pitch: 0.5 } }, 'voice_setting.pitch'],
    [{ speed: 3 }, 'speed'],
    [{ voice_modify: { pitch: 101 } }, 'voice_modify.pitch'],
    [{ voice_modify: { timbre: -101 } }, 'voice_modify.timbre'],
    [{ voice_modify: { intensity: 1.5 } }, 'voice_modify.intensity'],
    [{ audio_setting: { sample_rate: 48_000 } }, 'audio_setting.sample_rate'],
    [{ audio_setting: { audio_sample_rate: 1 } }, 'audio_setting.audio_sample_rate'],
    [{ audio_setting: { bitrate: 320_000 } }, 'audio_setting.bitrate'],
    [{ audio_setting: { format: 'ogg' } }, 'audio_setting.format'],
    [{ audio_setting: { channel: 3 } }, 'audio_setting.channel'],
    [{ stream: 'yes' }, 'stream'],
    [{ stream: true, output_format: 'url' }, 'output_format'],
    [{ stream: true, audio_setting: { format: 'wav' } }, 'audio_setting.format'],
    [{ stream: true }, 'stream', 'task'],
    [
      { stream_options: { exclude_aggregated_audio: 1 } },
      'stream_options.exclude_aggregated_audio',
    ],
    [{ language_boost: 'x'.repeat(33) }, 'language_boost'],
    [{ pronunciation_dict: { tone: 'x' } }, 'pronunciation_dict.tone'],
    [{ aigc_watermark: 'no' }, 'aigc_watermark'],
    [{ timbre_weights: [{ voice_id: 'someone', weight: 1 }] }, 'timbre_weights'],
    [{ text_file_id: 1 }, 'text_file_id', 'task'],
    [{ subtitle_enable: true }, 'subtitle_enable'],
  ]
  for (const [fields, param, way] of cases) refused(t, fields, param, way)
  t.throws(() => read({ model: 'speech-9' }), { code: 'unknown_model' })
  t.throws(() => read({ model: 'voice-clone' }), { code: 'unknown_model' })
  for (const way of ['call', 'task'] as const) {
    const longest = way === 'call' ? 9_999 : 50_000
    t.doesNotThrow(() => read({ text: 'x'.repeat(longest), emotion: null, vol: 0.01 }, way))
  }
  t.end()
})

t.test('any body is read or refused by a member', (t) => {
  const member = fc.oneof(
    fc.constantFrom(...Object.keys(good)),
    fc.constantFrom('voice_setting', 'audio_setting', 'voice_modify', 'emotion', 'stream'),
    fc.string({ maxLength: 12 }),
  )
  fc.assert(
    fc.property(fc.dictionary(member, fc.jsonValue()), fc.boolean(), (fields, isTask) => {
      try {
        read(fields, isTask ? 'task' : 'call')
      } catch (error) {
        if (!isDomainError(error)) throw error
        if (error.code === 'invalid_request') return typeof error.details['param'] === 'string'
        return error.code === 'unknown_model'
      }
      return true
    }),
  )
  t.end()
})

t.test('the hold counts characters as upstream does, and the reported count is settled', (t) => {
  t.equal(charactersOf('abc, 你好'), 9)
  t.equal(charactersOf('😀 𠮷'), 4, 'whole characters, however they are kept')
  for (const { name } of speechModels) {
    const { model, facts } = read({ model: name, text: '你好' })
    const terms = speechCallRules.price({ model, facts }, shippedBook)
    const each = name.endsWith('turbo') ? '0.00006' : '0.0001'
    t.equal(formatAmount(terms.holdPico), formatAmount(BigInt(Number(each) * 1e6) * 4_000_000n))
    const lines = [
      { sku: `${name}-character`, rule: 'speech/characters/reported', quantity: 7, price: /0$/ },
    ]
    t.match(terms.settle({ usage: { character: 7 } }), {
      measurement: 'reported',
      settlement: { lines },
    })
    t.match(terms.settle({ usage: { character: 0 } })?.settlement, { amount: '0', lines: [] })
    t.equal(terms.settle({ usage: {} }), undefined, 'never at a guess')
    t.match(terms.estimate(undefined), { measurement: 'estimated', usage: { character: 4 } })
    t.match(terms.estimate({ usage: { character: 9 } }), { measurement: 'reported' })
    const quote = speechTaskRules.quote(model, facts, shippedBook)
    t.equal(quote.hold, formatAmount(terms.holdPico), 'a task has the same hold')
    const success = { model, facts, quote, output: {} }
    t.match(speechTaskRules.settle({ ...success, usage: { character: 7 } })?.lines, lines)
    t.equal(speechTaskRules.settle({ ...success, usage: {} }), undefined)
  }
  for (const model of offeredModels)
    t.same(unpricedSkus(speechCallRules.prices(model, shippedBook, []), shippedBook), [], model)
  t.end()
})

t.test('usage above four times the text is not believed at a price of zero either', (t) => {
  const { model, facts } = read()
  const free: PriceBook = {
    ...shippedBook,
    lookup: (sku, currency) => {
      const sold = shippedBook.lookup(sku, currency)
      return sold && { ...sold, price: '0' }
    },
  }
  const terms = speechCallRules.price({ model, facts }, free)
  const told = (character: number) => ({ usage: { character } })
  t.match(terms.settle(told(52)), { measurement: 'reported', usage: { character: 52 } })
  for (const character of [53, Number.MAX_SAFE_INTEGER])
    t.match(terms.settle(told(character)), {
      measurement: 'estimated',
      usage: { character: 13 },
      settlement: { amount: '0', lines: [{ quantity: 13 }] },
      doubted: { notes: [{ what: 'characters', why: 'ceiling' }] },
    })
  t.end()
})

t.test('usage above four times the text is billed as the text', (t) => {
  const { model, facts } = read()
  const terms = speechCallRules.price({ model, facts }, shippedBook)
  const told = (character: number) => ({ usage: { character } })
  t.match(terms.settle(told(52)), { measurement: 'reported', usage: { character: 52 } })
  for (const rated of [terms.settle(told(53)), terms.estimate(told(Number.MAX_SAFE_INTEGER))])
    t.match(rated, {
      measurement: 'estimated',
      usage: { character: 13 },
      doubted: { notes: [{ what: 'characters', why: 'ceiling' }] },
    })
  t.end()
})
