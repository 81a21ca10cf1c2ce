import type { Page } from 'playwright-core';

/** Minimum contrast of text (WCAG 2.2, 1.4.3 AA). It applies to large text too: what is readable small is readable large. */
const CONTRAST_MIN = 4.5;
/** Minimum side of a touch target, in CSS pixels (WCAG 2.2, 2.5.5). */
const TARGET_MIN = 44;

/** Returns what is wrong with a page for people with low vision, a keyboard or a screen reader, or [] when nothing is. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  return await page.evaluate(inspect, { contrastMin: CONTRAST_MIN, targetMin: TARGET_MIN });
}

/** The parts of a page's elements that are inspected. This file runs outside the browser, so the browser's types are not loaded. */
interface PageElement {
  readonly tagName: string;
  readonly name: string;
  readonly textContent: string | null;
  readonly parentElement: PageElement | null;
  readonly labels: readonly PageElement[] | null;
  readonly childNodes: Iterable<{ readonly nodeType: number; readonly nodeValue: string | null }>;
  getAttribute(name: string): string | null;
  querySelector(selector: string): PageElement | null;
  getBoundingClientRect(): { readonly height: number };
}

interface PageStyle {
  readonly color: string;
  readonly backgroundColor: string;
  readonly outlineStyle: string;
  readonly outlineWidth: string;
}

declare const document: {
  readonly title: string;
  readonly activeElement: PageElement;
  readonly documentElement: { readonly lang: string; readonly scrollWidth: number };
  querySelectorAll(selector: string): ArrayLike<PageElement> & Iterable<PageElement>;
};
declare const innerWidth: number;
declare function getComputedStyle(element: PageElement): PageStyle;

/** Returns the tag, value or text of the focused element and whether the focus is visible. */
export async function focused(page: Page): Promise<string> {
  return await page.evaluate(() => {
    const element = document.activeElement;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const isShown = outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2;
    return `${element.tagName} ${element.getAttribute('value') ?? element.textContent} ${isShown}`;
  });
}

/** Runs inside the page. */
function inspect({ contrastMin, targetMin }: { contrastMin: number; targetMin: number }): string[] {
  const problems: string[] = [];
  const tell = (isRight: boolean, problem: string): void => {
    if (!isRight) {
      problems.push(problem);
    }
  };
  const channels = (color: string): number[] => (color.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = (color: string): number => {
    const [red = 0, green = 0, blue = 0] = channels(color).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const backgroundOf = (element: PageElement | null): string => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if ((channels(color)[3] ?? 1) > 0) {
        return color;
      }
    }
    return 'rgb(255, 255, 255)';
  };
  const name = (element: PageElement): string =>
    `${element.tagName} "${element.textContent?.trim().slice(0, 30)}"`;
  tell(document.documentElement.lang !== '', 'the page has no language');
  tell(document.title !== '', 'the page has no title');
  tell(document.querySelectorAll('h1').length === 1, 'the page does not have exactly one h1');
  tell(document.querySelectorAll('main').length === 1, 'the page does not have exactly one main');
  tell(document.documentElement.scrollWidth <= innerWidth, 'the page is wider than the window');
  for (const input of document.querySelectorAll('input')) {
    tell((input.labels?.[0]?.textContent ?? '').trim() !== '', `an input ${input.name} has no label`);
  }
  for (const group of document.querySelectorAll('fieldset')) {
    tell((group.querySelector('legend')?.textContent ?? '') !== '', 'a group has no legend');
  }
  for (const target of document.querySelectorAll('button, a, label')) {
    const { height } = target.getBoundingClientRect();
    tell(height >= targetMin, `${name(target)} is ${height} pixels high`);
    tell((target.textContent ?? '').trim() !== '', `${target.tagName} has no text`);
  }
  for (const element of document.querySelectorAll('body *')) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.nodeValue?.trim());
    if (hasText && !['STYLE', 'SCRIPT'].includes(element.tagName)) {
      const [first, second] = [getComputedStyle(element).color, backgroundOf(element)].map(luminance);
      const [dark, bright] = [Math.min(first ?? 0, second ?? 0), Math.max(first ?? 0, second ?? 0)];
      const contrast = (bright + 0.05) / (dark + 0.05);
      tell(contrast >= contrastMin, `${name(element)} has a contrast of ${contrast.toFixed(2)}`);
    }
  }
  return problems;
}
