import { readFileSync } from 'node:fs'
import bidiFactory from 'bidi-js'
import { create } from 'fontkit'
import { programFile } from '../../../../../platform/program-files.ts'

/** Chooses the font of every character, and the order in which a line shows them. */

const files = {
  regular: 'NotoSans-Regular.ttf',
  bold: 'NotoSans-Bold.ttf',
  hebrew: 'NotoSansHebrew-Regular.ttf',
  arabic: 'NotoSansArabic-Regular.ttf',
  /** Chinese and Japanese. */
  han: 'DroidSansFallbackFull.ttf',
} as const
export type Face = keyof typeof files
export const faces = Object.keys(files) as readonly Face[]

/** Fonts in the order in which they are asked after that of the text. */
const further: readonly Face[] = ['hebrew', 'arabic', 'han']
const rightToLeft: ReadonlySet<Face> = new Set(['hebrew', 'arabic'])

/** Shown for a character that no font has. */
const UNKNOWN = '?'

/** Characters that are not drawn. Those that change directions would show a name in another order than it is read. */
const invisible = /[\p{Cc}\p{Zl}\p{Zp}\ufe00-\ufe0f]|(?![\u200c\u200d])\p{Cf}/gu
const spaces = /\p{Zs}/gu
/** The sign of an amount, of which the fonts have another form alone. */
const MINUS = '−'
/** Characters that take the font and the direction of their neighbours. */
const neutral = /^[\p{Z}\p{P}\p{S}\u200c\u200d]$/u
const readFromRight = /[\p{Script=Hebrew}\p{Script=Arabic}]/u

interface LoadedFont {
  readonly bytes: Buffer
  readonly characters: ReadonlySet<number>
}

/** Part of a line in one font, in the order in which it is drawn. */
export interface Run {
  readonly text: string
  readonly face: Face
  /** The font lays out the text from right to left. */
  readonly isReversed: boolean
}

// The library is a function, which its types take for a member of a module.
const bidi = (bidiFactory as unknown as typeof bidiFactory.default)()

/** The fonts of the program, read once. */
export class Fonts {
  readonly #loaded: Readonly<Record<Face, LoadedFont>>

  constructor() {
    const load = (face: Face): readonly [Face, LoadedFont] => {
      const bytes = readFileSync(programFile(`infra/fonts/${files[face]}`))
      const font = create(bytes)
      if (!('characterSet' in font)) throw new Error(`${files[face]} is a collection of fonts`)
      return [face, { bytes, characters: new Set(font.characterSet) }]
    }
    this.#loaded = Object.fromEntries(faces.map(load)) as Record<Face, LoadedFont>
  }

  bytesOf(face: Face): Buffer {
    return this.#loaded[face].bytes
  }

  #has(face: Face, character: string): boolean {
    return this.#loaded[face].characters.has(character.codePointAt(0) ?? 0)
  }

  /** Cuts a line where its font or its direction changes. */
  runsOf(line: string, own: 'regular' | 'bold'): readonly Run[] {
    const text = line.replaceAll(invisible, '').replaceAll(spaces, ' ').replaceAll(MINUS, '-')
    const levels = readFromRight.test(text) ? bidi.getEmbeddingLevels(text).levels : undefined
    const cut: { text: string; face: Face; level: number }[] = []
    let at = 0
    for (const character of text) {
      const level = levels?.[at] ?? 0
      at += character.length
      const last = cut.at(-1)
      const face = this.#faceOf(character, own, last?.face)
      const shown = face === undefined ? UNKNOWN : mirrored(character, level)
      if (last !== undefined && last.face === (face ?? own) && last.level === level)
        last.text += shown
      else cut.push({ text: shown, face: face ?? own, level })
    }
    return inOrder(cut).map(({ level, ...run }) => {
      const isReversed = rightToLeft.has(run.face)
      // A font of letters from the left does not turn a text round.
      const turned = level % 2 === 1 && !isReversed
      return {
        ...run,
        isReversed,
        text: turned ? lettersOf(run.text).reverse().join('') : run.text,
      }
    })
  }

  /** Undefined: no font has the character. */
  #faceOf(character: string, own: Face, before: Face | undefined): Face | undefined {
    if (before !== undefined && neutral.test(character) && this.#has(before, character))
      return before
    return [own, ...further].find((face) => this.#has(face, character))
  }
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** The letters of a text, each with the accents on it. */
export function lettersOf(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

function mirrored(character: string, level: number): string {
  return (level % 2 === 1 && bidi.getMirroredCharacter(character)) || character
}

/** The order of drawing: from the highest level down, runs of this level or more are turned round together. */
function inOrder<Each extends { readonly level: number }>(runs: readonly Each[]): readonly Each[] {
  const ordered = [...runs]
  for (let level = Math.max(0, ...runs.map((run) => run.level)); level > 0; level -= 1)
    for (let start = 0; start < ordered.length; start += 1) {
      let end = start
      while ((ordered[end]?.level ?? -1) >= level) end += 1
      if (end - start > 1)
        ordered.splice(start, end - start, ...ordered.slice(start, end).reverse())
      start = Math.max(start, end - 1)
    }
  return ordered
}
