import type { ImageFamily } from './image-rules.ts'
import { quoteImages } from './image-rules.ts'
import type { TaskFamilyRules, TaskModel } from './task-rules.ts'

/** What is not begun within this has waited too long. */
const LONGEST_WAIT_S = 6 * 3_600
/** A channel answers within ten minutes or not at all; the rest is for keeping what it made. */
const LONGEST_MAKING_S = 15 * 60

/** The record of a family of images as one of asynchronous tasks. */
export function imageTaskRules(family: ImageFamily): TaskFamilyRules {
  const models = family.models.map((name): TaskModel => ({ name, aliases: [] }))
  return {
    family: family.name,
    idKind: 'image',
    defaultExpiryS: LONGEST_WAIT_S,
    longestExpiryS: LONGEST_WAIT_S,
    madeHere: { longestS: LONGEST_MAKING_S },
    models,
    resolve: (name) => models.find((model) => model.name === name),
    quote: (model, facts, book) => quoteImages(family, { model, facts }, book),
    settle: ({ quote, model, facts, usage, output }) =>
      family.settle(quote, { model, facts, usage, output }),
    ...(family.furtherSkus === undefined ? {} : { furtherSkus: family.furtherSkus }),
    prices: (model) => family.neededSkus(model).map((sku) => ({ sku, currency: family.currency })),
  }
}
