import type { Work } from '../../../kernel/turns.ts'
import { hasLoneSurrogate, hasNul } from '../../../kernel/storable-text.ts'
import { exactInteger } from '../../../kernel/exact-integers.ts'
import type { Span } from '../../../kernel/json-text.ts'
import { type Level, NotJson, notJson, notJsonAt, pathOf } from './json-place.ts'
import {
  FREE_IN_TEXT,
  FREE_MEMBERS,
  MAX_FREE_MEMBERS,
  MAX_JSON_DEPTH,
  MAX_JSON_MEMBERS,
  MAX_JSON_VALUES,
  MAX_KEPT_TEXT_VALUES,
  MAX_NAME_CHARACTERS,
  MAX_TEXT_CHARACTERS,
} from './json-bounds.ts'
import { closingQuote, decoded, PIECE_CHARACTERS, undivided } from './json-strings.ts'
import { RequestError } from '../request-error.ts'

/** Tokens that are read in one step. */
const TOKENS_AT_ONCE = 512

const WHOLE = /^-?\d+$/
/** The digits of a number that are read; no double needs as many. */
const MANY_DIGITS = 400
const NUMBER = /-?(?:0|[1-9]\d{0,400})(?:\.\d{1,400})?(?:[eE][+-]?\d{1,20})?/y
const INEXACT = 'A number is outside the range that can be kept exactly'
const DIGIT = /\d/
const WORDS: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

/** Placeholder for the object in an entry of a list. */
const NO_OBJECT: Record<string, unknown> = {}

function refuse(message: string, param?: string): never {
  throw new RequestError('body_invalid', message, param)
}

/** A data URI, or base64. */
const MEDIA = /^(?:data:|[A-Za-z0-9+/_-]{64}$)/i
const HIGH_SURROGATE_AT_END = /[\ud800-\udbff]$/

/** Reads one text, from its first character to its last. */
class StrictReader {
  readonly #text: string
  readonly #passesOn: boolean
  readonly #spans: Map<string, Span> | undefined
  readonly #maxValues: number
  readonly #levels: Level[] = []
  #at = 0
  /** Index after the colon of the last member of the outermost object. */
  #afterColon = 0
  #values = 0
  #mediaCharacters = 0
  #root: unknown
  /** Whether the index is within a long string. */
  #isInString = false

  constructor(text: string, passesOn: boolean, spans: Map<string, Span> | undefined) {
    this.#text = text
    this.#passesOn = passesOn
    this.#spans = spans
    this.#maxValues = spans === undefined ? MAX_JSON_VALUES : MAX_KEPT_TEXT_VALUES
  }

  *read(): Work<unknown> {
    try {
      return yield* this.#tokens()
    } catch (error) {
      throw error instanceof NotJson ? notJsonAt(this.#text, this.#at, this.#isInString) : error
    }
  }

  *#tokens(): Work<unknown> {
    let expects: 'value' | 'first value' | 'key' | 'first key' | 'rest' = 'value'
    for (let tokens = 1; ; tokens += 1) {
      if (tokens % TOKENS_AT_ONCE === 0) yield
      while (!this.#skipBlanks()) yield
      const char = this.#text.charAt(this.#at)
      const level = this.#levels.at(-1)
      if (expects === 'rest' && level === undefined) return char === '' ? this.#end() : notJson()
      if (expects !== 'value' && expects !== 'key' && (char === ']' || char === '}')) {
        this.#close(char)
        expects = 'rest'
      } else if (expects === 'rest') {
        if (char !== ',') return notJson()
        this.#at += 1
        expects = level?.list === undefined ? 'key' : 'value'
      } else if (expects === 'key' || expects === 'first key') {
        if (char !== '"' || level === undefined) return notJson()
        this.#enter(level)
        while (!this.#skipBlanks()) yield
        if (this.#text.charAt(this.#at) !== ':') return notJson()
        this.#at += 1
        if (this.#levels.length === 1) this.#afterColon = this.#at
        expects = 'value'
      } else if (char === '{' || char === '[') {
        this.#open(char === '[', level)
        expects = char === '[' ? 'first value' : 'first key'
      } else {
        this.#put(
          char === '"' ? (this.#shortString() ?? (yield* this.#longString())) : this.#word(),
        )
        expects = 'rest'
      }
    }
  }

  #end(): unknown {
    if (this.#text.length - this.#mediaCharacters > MAX_TEXT_CHARACTERS) {
      const most = `${MAX_TEXT_CHARACTERS} characters, not counting inline media`
      throw new RequestError('body_too_large', `The request body may have at most ${most}`)
    }
    return this.#root
  }

  /** False if there may be more of them. */
  #skipBlanks(): boolean {
    for (const end = this.#at + PIECE_CHARACTERS; this.#at < end; this.#at += 1) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return true
    }
    return false
  }

  #open(isList: boolean, parent: Level | undefined): void {
    if (this.#levels.length === MAX_JSON_DEPTH)
      refuse(`The request body nests deeper than ${MAX_JSON_DEPTH} levels`, pathOf(this.#levels))
    this.#count()
    const isFree =
      parent?.isFree === true || (parent?.list === undefined && this.#isFree(parent?.key ?? ''))
    this.#levels.push({
      list: isList ? [] : undefined,
      object: isList ? NO_OBJECT : {},
      key: '',
      members: 0,
      isFree,
    })
    this.#at += 1
  }

  #isFree(name: string): boolean {
    return FREE_MEMBERS.has(name) || (this.#spans !== undefined && name === FREE_IN_TEXT)
  }

  #close(char: string): void {
    const level = this.#levels.at(-1)
    if (level === undefined || (level.list !== undefined) !== (char === ']')) return notJson()
    this.#levels.pop()
    this.#at += 1
    this.#add(level.list ?? level.object)
  }

  #count(): void {
    this.#values += 1
    if (this.#values > this.#maxValues)
      refuse(`The request body holds more than ${this.#maxValues} values`)
  }

  #put(value: unknown): void {
    this.#count()
    this.#add(value)
  }

  #add(value: unknown): void {
    const level = this.#levels.at(-1)
    if (level === undefined) this.#root = value
    else if (level.list === undefined) {
      level.object[level.key] = value
      if (this.#spans !== undefined && this.#levels.length === 1)
        this.#spans.set(level.key, { from: this.#afterColon, to: this.#at })
    } else level.list.push(value)
  }

  /** Reads the name of a member. */
  #enter(level: Level): void {
    const key = this.#shortString(true) ?? notJson()
    if (key.length > MAX_NAME_CHARACTERS)
      refuse(`The name of a member may have at most ${MAX_NAME_CHARACTERS} characters`)
    const above = this.#levels.at(-2)
    level.key = key
    level.members += 1
    if (key === '__proto__' || (key === 'prototype' && above?.key === 'constructor'))
      refuse(`The key ${key} is not accepted`, pathOf(this.#levels))
    if (Object.hasOwn(level.object, key))
      refuse('A key appears twice in one object', pathOf(this.#levels))
    const most = level.isFree ? MAX_FREE_MEMBERS : MAX_JSON_MEMBERS
    if (level.members > most)
      refuse(`An object may have at most ${most} members`, pathOf(this.#levels.slice(0, -1)))
  }

  /** Undefined if it is longer than a piece, or has no end. */
  #shortString(isName = false): string | undefined {
    const end = closingQuote(this.#text, this.#at + 1)
    if (end === -1) return undefined
    const raw = this.#text.slice(this.#at, end + 1)
    const value = decoded(raw)
    if (raw.includes('\\u')) this.#check(value, isName)
    this.#at = end + 1
    return value
  }

  *#longString(): Work<string> {
    const start = this.#at + 1
    let value = ''
    let half = ''
    let isPlain = true
    this.#at = start
    this.#isInString = true
    for (;;) {
      const piece = this.#text.slice(this.#at, this.#at + PIECE_CHARACTERS)
      const end = closingQuote(piece, 0)
      const part = end === -1 ? undivided(piece) : piece.slice(0, end)
      if (part === '' && end === -1) return notJson()
      const text = decoded(`"${part}"`)
      // The end of a piece may divide a pair of surrogates.
      const isHalf = end === -1 && HIGH_SURROGATE_AT_END.test(text)
      if (half !== '' || part.includes('\\u'))
        this.#check(half + (isHalf ? text.slice(0, -1) : text))
      half = isHalf ? text.slice(-1) : ''
      isPlain &&= text.length === part.length
      value += text
      this.#at += part.length
      if (end !== -1) break
      yield
    }
    this.#isInString = false
    if (isPlain && MEDIA.test(this.#text.slice(start, start + 64)))
      this.#mediaCharacters += value.length
    this.#at += 1
    // A part of the text needs no joining.
    return isPlain ? this.#text.slice(start, this.#at - 1) : value
  }

  #check(text: string, isName = false): void {
    if (this.#passesOn && !isName) return
    if (hasLoneSurrogate(text)) this.#refuseString('is not well-formed Unicode')
    if (hasNul(text)) this.#refuseString('holds a NUL character')
  }

  /** Names the member in the words as well: some envelopes have nothing else for it. */
  #refuseString(fault: string): never {
    const path = pathOf(this.#levels)
    return refuse(`A string ${fault}${path ? `: \`${path}\`` : ''}`, path)
  }

  #word(): unknown {
    NUMBER.lastIndex = this.#at
    const digits = NUMBER.exec(this.#text)?.[0]
    if (digits === undefined) {
      const word = WORDS.find(([name]) => this.#text.startsWith(name, this.#at))
      if (word === undefined) return notJson()
      this.#at += word[0].length
      return word[1]
    }
    const value = Number(digits)
    if (!Number.isFinite(value) && this.#spans === undefined) refuse(INEXACT, pathOf(this.#levels))
    this.#at += digits.length
    if (digits.length > MANY_DIGITS && DIGIT.test(this.#text.charAt(this.#at)))
      refuse('A number has too many digits', pathOf(this.#levels))
    // A number with a point or an exponent is meant to be a double.
    const losesDigits = Number.isInteger(value) && !Number.isSafeInteger(value)
    return losesDigits && WHOLE.test(digits) ? this.#largeInteger(digits) : value
  }

  /**
   * An integer that the gateway reads must be exact as a number; one that it only passes on keeps
   * its digits, in the text if that goes on.
   */
  #largeInteger(digits: string): unknown {
    if (this.#spans !== undefined) return Number(digits)
    if (!this.#passesOn || this.#levels.at(-1)?.isFree !== true)
      return refuse(INEXACT, pathOf(this.#levels))
    if (exactInteger === undefined)
      return refuse(`${INEXACT}: the gateway needs Node 22 to pass it on`, pathOf(this.#levels))
    return exactInteger(digits)
  }
}

/**
 * Reads JSON strictly: no duplicate or prototype keys, nesting, values and members bounded, no lone
 * surrogates or NUL, no number that a double cannot hold exactly. With `passesOn`, string values may
 * hold lone surrogates and NUL, and members that are the caller's own larger integers
 * (`exactInteger`). With `spans` the text itself goes on: the reader fills in where the members of the
 * outermost object stand, and reads a number that a double cannot hold as the nearest one.
 * @throws RequestError `body_invalid` (with the path of the field where there is one)
 */
export function readStrictJson(
  text: string,
  passesOn: boolean,
  spans?: Map<string, Span>,
): Work<unknown> {
  return new StrictReader(text, passesOn, spans).read()
}
