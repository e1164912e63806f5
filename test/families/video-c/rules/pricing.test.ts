import t from 'tap'
import { videoCModels } from '../../../../src/families/video-c/rules/models.ts'
import { videoCRules } from '../../../../src/families/video-c/module.ts'
import type { TaskFacts } from '../../../../src/domain/task/events.ts'
import { shippedBook } from '../../../domain/pricing/books.ts'

function factsOf(settings: TaskFacts['settings']): TaskFacts {
  return { inputs: { text: 1, image: 0 }, tools: [], settings: { mode: 'text2video', ...settings } }
}

function settle(settings: TaskFacts['settings'], usage: Readonly<Record<string, number>>) {
  const facts = factsOf(settings)
  const quote = videoCRules.quote('clipq3-pro', facts, shippedBook)
  return videoCRules.settle({ model: 'clipq3-pro', facts, quote, usage, output: {} })
}

t.test('every model has a price in the shipped book', async (t) => {
  for (const { name } of videoCModels)
    for (const { sku, currency } of videoCRules.prices(name))
      t.equal(shippedBook.lookup(sku, currency)?.unit, 'credit', sku)
})

t.test('a success is billed the credits upstream took; a zero writes no line', async (t) => {
  t.match(settle({ duration: 5 }, { credits: 100 }), {
    currency: 'USD',
    amount: '0.5',
    lines: [{ sku: 'clipq3-pro-credit', rule: 'video-c/credit', quantity: 100, price: '0.005' }],
  })
  t.match(settle({ off_peak: true }, { credits: 50 }), {
    amount: '0.25',
    lines: [{ rule: 'video-c/credit/off-peak', price: '0.005' }],
  })
  t.match(settle({}, { credits: 0 }), { amount: '0', lines: [] })
})

t.test('a success without a valid count of credits is not settled', async (t) => {
  for (const usage of [{}, { credits: -1 }, { credits: 1.5 }, { completion_tokens: 5 }])
    t.equal(settle({}, usage), undefined)
})

t.test('the hold depends on seconds and resolution, and is halved off-peak', async (t) => {
  const hold = (model: string, settings: TaskFacts['settings']) =>
    videoCRules.quote(model, factsOf(settings), shippedBook).hold
  t.equal(hold('clipq3-pro', { duration: 16, resolution: '1080p' }), '3.2')
  t.equal(hold('clipq3-pro', { duration: 16, resolution: '1080p', off_peak: true }), '1.6')
  t.equal(hold('clipq3-pro', {}), '0.5', 'five seconds of 720p')
  t.equal(hold('clip2.0', { resolution: '540p' }), '0.24', 'four seconds')
})
