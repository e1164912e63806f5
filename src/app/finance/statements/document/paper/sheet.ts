import PdfDocument from 'pdfkit'
import { type Face, faces, type Fonts, lettersOf, type Run } from './fonts.ts'

/** Pages of A4 on which text is set line by line, from the top down. Lengths are points, a 72nd of an inch. */

const PAGE = { width: 595.28, height: 841.89 }
export const MARGIN = 48
export const WIDTH = PAGE.width - 2 * MARGIN
const TOP = { first: MARGIN, further: MARGIN + 26 }
const BOTTOM = PAGE.height - MARGIN - 26

export const inks = {
  ink: '#1d2420',
  quiet: '#5b645f',
  line: '#d9d7cf',
  faint: '#eceae3',
  accent: '#1f5c4d',
  bad: '#a4312a',
  warn: '#8a5a00',
  warned: '#fdf0d2',
  box: '#f6f5f1',
} as const
export type Ink = keyof typeof inks

export interface Style {
  readonly size: number
  readonly ink?: Ink
  readonly isBold?: boolean
}

/** Where a line begins, or where it ends; smaller letters share the baseline of those of the size `baseOf`. */
export type Place = { readonly y?: number; readonly baseOf?: number } & (
  | { readonly x: number }
  | { readonly right: number }
)

/** Letters of this size are seen without being bold. */
const LARGE = 40

/** Distance from one line to the next. */
export const leadOf = ({ size }: Style): number => size * 1.4

/** Places where a line may end: after spaces and signs that join words, and around Chinese and Japanese characters. */
const breaks =
  /(?<=[\s\-/_@])(?=\S)|(?<=[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}，。、；：！？）》」])(?![\s，。、；：！？）》」])|(?<=\S)(?=[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}（《「])(?<![（《「])/u

interface MeasuredRun extends Run {
  readonly ems: number
}

/** The size at which widths are measured, which grow with it. */
const EM = 100

/** A run from the right is laid out as a whole, and not word by word. */
const layoutOf = ({ isReversed }: Run): PDFKit.Mixins.TextOptions =>
  isReversed ? { features: [] } : {}

export class Sheet {
  readonly #doc: PDFKit.PDFDocument
  readonly #fonts: Fonts
  readonly #bytes: Promise<Buffer>
  /** Draws what a page has under its text. */
  readonly #onPage: (sheet: Sheet, page: number) => void
  /** Lines are measured more often than they are set. */
  readonly #lines = new Map<string, readonly MeasuredRun[]>()
  #pages = 0
  /** The top of what comes next. */
  y = 0

  constructor(
    fonts: Fonts,
    options: Pick<PDFKit.PDFDocumentOptions, 'info' | 'lang'>,
    onPage: (sheet: Sheet, page: number) => void,
  ) {
    this.#fonts = fonts
    this.#onPage = onPage
    this.#doc = new PdfDocument({
      ...options,
      size: [PAGE.width, PAGE.height],
      margin: 0,
      autoFirstPage: false,
      bufferPages: true,
      displayTitle: true,
      // Every text has its font: that of the library would be read from a file, which a build does not have.
      font: '',
      pdfVersion: '1.7',
    })
    for (const face of faces) this.#doc.registerFont(face, fonts.bytesOf(face))
    const chunks: Buffer[] = []
    this.#doc.on('data', (chunk: Buffer) => chunks.push(chunk))
    this.#bytes = new Promise((resolve, reject) => {
      this.#doc.on('end', () => resolve(Buffer.concat(chunks)))
      this.#doc.on('error', reject)
    })
    this.newPage()
  }

  newPage(): void {
    this.#doc.addPage()
    this.#pages += 1
    this.#onPage(this, this.#pages)
    this.y = this.#pages === 1 ? TOP.first : TOP.further
  }

  /** Whether this height is left on the page. */
  hasRoom(height: number): boolean {
    return this.y + height <= BOTTOM
  }

  /** Begins a page for a part that would be cut, unless no page has the room for it. */
  keepTogether(height: number): void {
    if (!this.hasRoom(height) && TOP.further + height <= BOTTOM) this.newPage()
  }

  widthOf(text: string, style: Style): number {
    return this.#measured(text, style).reduce((sum, { ems }) => sum + ems * style.size, 0)
  }

  /** The runs of a line with their widths, by the size of the letters. */
  #measured(text: string, { isBold = false }: Style): readonly MeasuredRun[] {
    const own = isBold ? 'bold' : 'regular'
    const key = `${own} ${text}`
    const known = this.#lines.get(key)
    if (known !== undefined) return known
    this.#doc.fontSize(EM)
    const measured = this.#fonts.runsOf(text, own).map((run) => {
      const width = this.#doc.font(run.face).widthOfString(run.text, layoutOf(run))
      return { ...run, ems: width / EM }
    })
    this.#lines.set(key, measured)
    return measured
  }

  /** Sets one line below `y`, and goes nowhere. */
  line(text: string, style: Style, place: Place): void {
    const { size, ink = 'ink', isBold = false } = style
    let x = 'x' in place ? place.x : place.right - this.widthOf(text, style)
    const y = (place.y ?? this.y) + (place.baseOf ?? size) * 1.07
    for (const run of this.#measured(text, style)) {
      this.#doc.font(run.face).fontSize(size).fillColor(inks[ink])
      this.#doc.text(run.text, x, y, {
        ...layoutOf(run),
        ...this.#weight(run.face, isBold, style),
        lineBreak: false,
        // Fonts have their lines at different heights: they share this.
        baseline: 'alphabetic',
      })
      x += run.ems * size
    }
  }

  /** Only Latin letters have a bold font: others get a line around them, where they are not large. */
  #weight(face: Face, isBold: boolean, { size, ink = 'ink' }: Style): PDFKit.Mixins.TextOptions {
    if (!isBold || size > LARGE || face === 'bold' || face === 'regular') return {}
    this.#doc.lineWidth(size / 42).strokeColor(inks[ink])
    return { fill: true, stroke: true }
  }

  /** Cuts a text into lines of this width; a word that is too long for a line is cut anywhere. */
  wrap(text: string, style: Style, width: number): readonly string[] {
    if (this.widthOf(text, style) <= width) return [text]
    const lines: string[] = []
    let line = ''
    let used = 0
    const add = (part: string): void => {
      if (line !== '' && used + this.widthOf(part.trimEnd(), style) > width) {
        lines.push(line.trimEnd())
        line = ''
        used = 0
      }
      line += part
      used += this.widthOf(part, style)
    }
    for (const part of text.split(breaks))
      if (this.widthOf(part.trimEnd(), style) <= width) add(part)
      else for (const letter of lettersOf(part)) add(letter)
    return [...lines, line.trimEnd()]
  }

  /** Sets lines one below the other, over as many pages as they need. */
  paragraph(text: string, style: Style, { x = MARGIN, width = WIDTH } = {}): void {
    for (const line of this.wrap(text, style, width)) {
      if (!this.hasRoom(leadOf(style))) this.newPage()
      this.line(line, style, { x })
      this.y += leadOf(style)
    }
  }

  rule(y: number, ink: Ink, thickness = 0.5, x = MARGIN, width = WIDTH): void {
    this.#doc
      .moveTo(x, y)
      .lineTo(x + width, y)
      .lineWidth(thickness)
      .strokeColor(inks[ink])
      .stroke()
  }

  box(box: { x: number; y: number; width: number; height: number }, ink: Ink): void {
    this.#doc.rect(box.x, box.y, box.width, box.height).fillColor(inks[ink]).fill()
  }

  /** A word in a frame that ends at the right margin. */
  stamp(text: string, style: Style & { readonly ink: Ink }): void {
    const width = this.widthOf(text, style) + 24
    const x = MARGIN + WIDTH - width
    this.#doc
      .roundedRect(x, this.y + 2, width, style.size * 1.75, 4)
      .lineWidth(2)
      .strokeColor(inks[style.ink])
      .stroke()
    this.line(text, style, { x: x + 12, y: this.y + 2 + style.size * 0.28 })
  }

  /** A faint word across the page. */
  watermark(text: string, ink: Ink): void {
    const style = { size: 130, ink, isBold: true } as const
    const [x, y] = [PAGE.width / 2, PAGE.height / 2]
    this.#doc
      .save()
      .rotate(-28, { origin: [x, y] })
      .opacity(0.09)
    this.line(text, style, { x: x - this.widthOf(text, style) / 2, y: y - style.size * 0.7 })
    this.#doc.restore()
  }

  /** Draws on every page once their number is known, and ends the document. */
  finish(onEach: (page: number, pages: number) => void): Promise<Buffer> {
    for (let page = 0; page < this.#pages; page += 1) {
      this.#doc.switchToPage(page)
      onEach(page + 1, this.#pages)
    }
    this.#doc.end()
    return this.#bytes
  }
}

/** Above and below the text of a page. */
export const RUNNING_HEAD = MARGIN - 6
export const RUNNING_FOOT = PAGE.height - MARGIN - 12
