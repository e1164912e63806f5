import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { until } from '../../helpers/eventually.ts'
import { atLength } from '../../helpers/long-run.ts'

/** Ways to use the console: with a mouse, without script, and by keyboard alone. */

/** A way to use a page; what it does to an element is what a person would do. */
export interface Hand {
  readonly name: string
  /** Whether it takes the pictures of the documentation. */
  readonly takesPictures?: true
  readonly options: BrowserContextOptions
  readonly click: (page: Page, target: Locator) => Promise<void>
  readonly write: (page: Page, target: Locator, text: string) => Promise<void>
  readonly choose: (page: Page, target: Locator, option: string) => Promise<void>
}

const VIEWPORT = { width: 1_100, height: 700 }
/** A page of 50 rows has fewer places for the focus. */
const MOST_STOPS = 400

const mouse = {
  click: (_page: Page, target: Locator) => target.click(),
  write: (_page: Page, target: Locator, text: string) => target.fill(text),
  choose: async (_page: Page, target: Locator, option: string) => {
    await target.selectOption(option)
  },
}

/** Presses Tab, or Shift and Tab where it stands before the focus, until an element has the focus. */
async function reach(page: Page, target: Locator): Promise<void> {
  const isBefore = await target.evaluate((element) => {
    const { activeElement, body } = element.ownerDocument
    const { DOCUMENT_POSITION_PRECEDING: preceding } = element
    if (activeElement === null || activeElement === body) return false
    return (activeElement.compareDocumentPosition(element) & preceding) !== 0
  })
  for (let n = 0; n < MOST_STOPS; n += 1) {
    if (await target.evaluate((element) => element.matches(':focus'))) return
    await page.keyboard.press(isBefore ? 'Shift+Tab' : 'Tab')
  }
  throw new Error(`Tab does not lead to ${String(target)}`)
}

const keyboard = {
  click: async (page: Page, target: Locator) => {
    await reach(page, target)
    await page.keyboard.press('Enter')
  },
  write: async (page: Page, target: Locator, text: string) => {
    await reach(page, target)
    await page.keyboard.press('Control+A')
    await page.keyboard.type(text)
  },
  choose: async (page: Page, target: Locator, option: string) => {
    await reach(page, target)
    await page.keyboard.press('Home')
    for (let n = 0; n < MOST_STOPS && (await target.inputValue()) !== option; n += 1)
      await page.keyboard.press('ArrowDown')
  },
}

const hands: readonly Hand[] = [
  { name: 'with a mouse', takesPictures: true, options: { viewport: VIEWPORT }, ...mouse },
  {
    name: 'without script',
    options: { viewport: VIEWPORT, javaScriptEnabled: false },
    ...mouse,
  },
  { name: 'by keyboard alone', options: { viewport: VIEWPORT }, ...keyboard },
]

export function handNamed(wanted: string): Hand {
  const found = hands.find(({ name }) => name === wanted)
  if (found === undefined) throw new Error(`there is no hand ${wanted}`)
  return found
}

/** Hands that take a walk: all at length, in short only the named one. */
export function handsFor(inShort: string): readonly Hand[] {
  return atLength(
    hands.filter(({ name }) => name === inShort),
    hands,
  )
}

/** A walk through the console by one hand: each step names what is seen on the page. */
export interface Walk {
  /** Follows the first link of a name; of the first row that says so, if one is named. */
  readonly follow: (name: string | RegExp, row?: string) => Promise<void>
  readonly press: (button: string | RegExp) => Promise<void>
  /** Opens what is folded. */
  readonly unfold: (summary: string) => Promise<void>
  readonly write: (label: string, text: string) => Promise<void>
  readonly choose: (label: string, option: string) => Promise<void>
  /** Looks for a word in the field of every page. */
  readonly find: (word: string) => Promise<void>
  /** Waits until the page says it, and nothing unlike it; returns all that the page says. */
  readonly sees: (words: RegExp, unlike?: RegExp) => Promise<string>
}

export function walkOf(page: Page, hand: Hand): Walk {
  const main = page.locator('main')
  const field = (label: string) =>
    page
      .locator('label', { has: page.locator(`span:text-is("${label}")`) })
      .locator('input, select, textarea')
      .filter({ visible: true })
      .first()
  const walk: Walk = {
    follow: (name, row) => {
      const within = row === undefined ? page : page.locator('tr', { hasText: row }).first()
      return hand.click(page, within.getByRole('link', { name, exact: true }).first())
    },
    press: (name) => hand.click(page, page.getByRole('button', { name, exact: true }).first()),
    unfold: (name) => hand.click(page, page.locator('summary', { hasText: name }).first()),
    write: (label, text) => hand.write(page, field(label), text),
    choose: (label, option) => hand.choose(page, field(label), option),
    find: async (word) => {
      await hand.write(page, page.getByRole('searchbox'), word)
      await page.keyboard.press('Enter')
    },
    sees: async (words, unlike) => {
      let seen = ''
      await until(async () => {
        seen = await main.innerText()
        return words.test(seen) && unlike?.test(seen) !== true
      }).catch((cause: unknown) => {
        throw new Error(`${page.url()} does not say ${String(words)}, but: ${seen}`, { cause })
      })
      return seen
    },
  }
  return walk
}
