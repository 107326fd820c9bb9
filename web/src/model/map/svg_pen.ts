// The map as a picture to keep: what a canvas would be told to draw, as SVG. The subset of a pen that the map uses.
import type { Pen } from './draw';

const escaped = (text: string) => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
const short = (value: number) => String(Math.round(value * 10) / 10);

export class SvgPen implements Pen {
  strokeStyle: unknown = '#000';
  fillStyle: unknown = '#000';
  lineWidth = 1;
  font = '11px sans-serif';
  globalAlpha = 1;
  textAlign: CanvasTextAlign = 'left';
  textBaseline: CanvasTextBaseline = 'alphabetic';
  private readonly parts: string[] = [];
  private path = '';
  private dashes = '';

  beginPath() {
    this.path = '';
  }
  moveTo(x: number, y: number) {
    this.path += `M${short(x)} ${short(y)}`;
  }
  lineTo(x: number, y: number) {
    this.path += `L${short(x)} ${short(y)}`;
  }
  bezierCurveTo(a: number, b: number, c: number, d: number, x: number, y: number) {
    this.path += `C${[a, b, c, d, x, y].map(short).join(' ')}`;
  }
  stroke() {
    if (this.path) this.parts.push(`<path d="${this.path}" fill="none" ${this.line()}/>`);
  }
  fillRect(x: number, y: number, w: number, h: number) {
    this.parts.push(`<rect ${this.box(x, y, w, h)} fill="${escaped(String(this.fillStyle))}"${this.alpha()}/>`);
  }
  strokeRect(x: number, y: number, w: number, h: number) {
    this.parts.push(`<rect ${this.box(x, y, w, h)} fill="none" ${this.line()}/>`);
  }
  fillText(text: string, x: number, y: number) {
    const [, weight = '400', size = '11'] = /^(?:(\d{3}) )?([\d.]+)px/.exec(this.font) ?? [];
    const anchor = this.textAlign === 'center' ? 'middle' : 'start';
    const baseline = this.textBaseline === 'middle' ? ' dominant-baseline="central"' : '';
    this.parts.push(`<text x="${short(x)}" y="${short(y)}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}"${baseline} fill="${escaped(String(this.fillStyle))}"${this.alpha()}>${escaped(text)}</text>`);
  }
  setLineDash(dashes: number[]) {
    this.dashes = dashes.join(' ');
  }
  clearRect() {}
  setTransform() {}
  save() {}
  restore() {}
  measureText(text: string) {
    return { width: text.length * 6.5 } as TextMetrics;
  }

  // font: a family for all of its texts.
  text(width: number, height: number, background: string, font: string): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${short(width)} ${short(height)}" width="${short(width)}" height="${short(height)}" font-family="${escaped(font)}"><rect width="100%" height="100%" fill="${escaped(background)}"/>${this.parts.join('')}</svg>`;
  }

  private box(x: number, y: number, w: number, h: number) {
    return `x="${short(x)}" y="${short(y)}" width="${short(Math.max(w, 0))}" height="${short(Math.max(h, 0))}"`;
  }
  private alpha() {
    return this.globalAlpha === 1 ? '' : ` opacity="${this.globalAlpha}"`;
  }
  private line() {
    return `stroke="${escaped(String(this.strokeStyle))}" stroke-width="${this.lineWidth}"${this.dashes ? ` stroke-dasharray="${this.dashes}"` : ''}${this.alpha()}`;
  }
}
