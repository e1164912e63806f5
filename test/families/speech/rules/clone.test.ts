import { uploadPurposes } from '../../../../src/domain/upload/events.ts'
import { catalog } from '../../../../src/families/index.ts'
import t from 'tap'
import { priceClone } from '../../../../src/families/speech/rules/pricing.ts'
import { readClone } from '../../../../src/families/speech/rules/clone-request.ts'
import { priceBookFromPublished } from '../../../../src/domain/pricing/price-book.ts'
import { formatAmount } from '../../../../src/kernel/money.ts'

const least = { file_id: '4503599627370497', voice_id: 'MyVoice_001' }
const book = priceBookFromPublished({
  version: '2026-03-01',
  entries: [
    { sku: 'voice-clone', currency: 'USD', unit: 'voice', per: 1, price: '1.5' },
    {
      sku: 'speech-2.8-hd-character',
      currency: 'USD',
      unit: 'character',
      per: 1_000_000,
      price: '100',
    },
  ],
})

t.test('a request is read, with ids as numbers or digits', (t) => {
  t.match(readClone(least), { fileId: '4503599627370497', voiceId: 'MyVoice_001', settings: {} })
  t.equal(readClone({ ...least, file_id: 4503599627370497 }).fileId, '4503599627370497')
  t.equal(readClone({ ...least, file_id: '9223372036854775807' }).fileId, '9223372036854775807')
  const whole = readClone({
    ...least,
    clone_prompt: { prompt_audio: '7', prompt_text: 'hi' },
    text: 'good 早',
    model: 'speech-2.8-hd',
    language_boost: 'auto',
    need_noise_reduction: true,
    need_volume_normalization: false,
    aigc_watermark: true,
    text_validation: 'x',
    accuracy: 0.7,
  })
  t.match(whole, {
    promptFileId: '7',
    promptText: 'hi',
    audition: { model: 'speech-2.8-hd', text: 'good 早', characters: 7 },
    settings: {
      language_boost: 'auto',
      need_noise_reduction: true,
      need_volume_normalization: false,
      aigc_watermark: true,
      text_validation: 'x',
      accuracy: 0.7,
    },
  })
  t.notMatch(JSON.stringify(whole.settings), /MyVoice|file_id/, 'whose it is is not settled yet')
  t.equal(readClone({ ...least, text: '', model: null }).audition, undefined, 'null is nothing')
  t.equal(readClone({ ...least, model: 'speech-2.8-hd' }).audition, undefined)
  t.end()
})

t.test('a faulty member is refused by name', (t) => {
  const ids = [
    '',
    '0',
    '-1',
    '1.5',
    '1e3',
    ' 7',
    '07',
    '9223372036854775808',
    0,
    -1,
    1.5,
    2 ** 53,
    true,
    {},
  ]
  for (const id of ids)
    t.throws(() => readClone({ ...least, file_id: id }), {
      code: 'invalid_request',
      details: { param: 'file_id' },
    })
  const cases = [
    ['file_id', { file_id: undefined }],
    ['voice_id', { voice_id: undefined }],
    ['voice_id', { voice_id: 'short' }],
    ['voice_id', { voice_id: 'female-chengshu' }],
    ['voice_id', { voice_id: 'English_Graceful_Lady' }],
    ['voice_id', { voice_id: 7 }],
    ['clone_prompt', { clone_prompt: 'x' }],
    ['clone_prompt.prompt_audio', { clone_prompt: { prompt_audio: '9223372036854775808' } }],
    ['clone_prompt.prompt_text', { clone_prompt: { prompt_text: 1 } }],
    ['text', { text: 'x'.repeat(1_001), model: 'speech-2.8-hd' }],
    ['model', { text: 'hello' }],
    ['need_noise_reduction', { need_noise_reduction: 'yes' }],
    ['need_volume_normalization', { need_volume_normalization: 1 }],
    ['aigc_watermark', { aigc_watermark: 'no' }],
    ['language_boost', { language_boost: 1 }],
    ['text_validation', { text_validation: 'x'.repeat(201) }],
    ['accuracy', { accuracy: 1.1 }],
  ] as const
  for (const [param, part] of cases)
    t.throws(() => readClone({ ...least, ...part }), {
      code: 'invalid_request',
      details: { param },
    })
  t.throws(() => readClone({ ...least, text: 'hi', model: 'text-basic' }), {
    code: 'unknown_model',
  })
  t.end()
})

t.test('a clone is billed by the piece, its audition as speech', (t) => {
  const audition = { model: 'speech-2.8-hd', characters: 8 }
  const terms = priceClone(audition, book)
  t.equal(formatAmount(terms.holdPico), '1.5008')
  t.match(terms.settle({ characters: 11 }), {
    usage: { voice: 1, character: 11 },
    measurement: 'reported',
    settlement: {
      currency: 'USD',
      amount: '1.5011',
      lines: [
        { sku: 'voice-clone', rule: 'speech/clone/made', quantity: 1, measurement: 'reported' },
        { sku: 'speech-2.8-hd-character', rule: 'speech/clone/audition', quantity: 11 },
      ],
    },
  })
  t.match(
    terms.settle({ characters: undefined }),
    {
      measurement: 'estimated',
      settlement: { amount: '1.5008', lines: [{}, { measurement: 'estimated' }] },
    },
    'the voice is there, whatever is said of its audition',
  )
  t.equal(terms.settle({ characters: 0 })?.settlement.amount, '1.5', 'an explicit zero is a figure')
  t.equal(terms.estimate(undefined).settlement.amount, '1.5008')
  const plain = priceClone(undefined, book)
  t.equal(plain.settle({ characters: 9 })?.settlement.amount, '1.5', 'nothing was to be said')
  t.throws(() => priceClone({ model: 'speech-2.6-hd', characters: 1 }, book), {
    code: 'price_not_configured',
    details: { sku: 'speech-2.6-hd-character' },
  })
  t.end()
})

t.test('every upload purpose has an account and a size bound', (t) => {
  const [voice, prompt] = (['voice_clone', 'prompt_audio'] as const).map(catalog.uploadPlace)
  t.same(voice, prompt, 'at one account')
  t.equal(catalog.maxUploadBytes, 50 * 1024 * 1024)
  for (const purpose of uploadPurposes)
    t.ok(catalog.uploadPlace(purpose).maxBytes <= catalog.maxUploadBytes, purpose)
  t.end()
})

t.test('usage above four times the audition’s text is billed as the text', (t) => {
  const terms = priceClone({ model: 'speech-2.8-hd', characters: 7 }, book)
  t.match(terms.settle({ characters: 28 }), { measurement: 'reported', usage: { character: 28 } })
  t.match(terms.settle({ characters: Number.MAX_SAFE_INTEGER }), {
    measurement: 'estimated',
    usage: { character: 7 },
    doubted: { figures: { character: Number.MAX_SAFE_INTEGER } },
  })
  t.end()
})
